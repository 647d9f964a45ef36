//! stub
pub(super) async fn document() -> &'static str { "{}" }
