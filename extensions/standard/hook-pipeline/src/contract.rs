//! What another extension may use of the pipeline. A module needs `dispatch-hook-module` alone.
