//! A service that an extension provides to others: methods by name, JSON in and out.

use crate::extension::{ActiveExtension, Invocation};
use crate::limits::SERVICE;
use dispatch_contracts::BoxFuture;
use dispatch_contracts::hook::HandlerError;
use dispatch_contracts::service::JsonService;
use serde_json::{Value, json};

/// The service, as others call it.
pub(crate) struct ScriptService {
    active: ActiveExtension,
    id: String,
    methods: Vec<String>,
}

impl ScriptService {
    pub(crate) const fn new(active: ActiveExtension, id: String, methods: Vec<String>) -> Self {
        Self { active, id, methods }
    }
}

impl JsonService for ScriptService {
    fn call(&self, method: &str, arguments: Vec<Value>) -> BoxFuture<'static, Result<Value, HandlerError>> {
        if !self.methods.iter().any(|known| known == method) {
            let known = self.methods.join("`, `");
            let said = format!("the service `{}` has no method `{method}`; it has `{known}`", self.id);
            return Box::pin(std::future::ready(Err(HandlerError(said))));
        }
        let input = json!({ "method": method, "args": arguments });
        let (active, place) = (self.active.clone(), format!("service {}", self.id));
        let call = Invocation::new("service", self.id.clone(), input, SERVICE);
        Box::pin(
            async move { active.invoke(&place, call).await.map_err(|failure| HandlerError(active.told(&failure))) },
        )
    }
}
