//! Presents CI variables of a project.

use holdfast_app::ci::variable::Variable;
use serde::Serialize;
use utoipa::ToSchema;

#[derive(Serialize, ToSchema)]
pub struct VariableBody {
    pub key: String,
    pub value: String,
}

pub fn present_variable(variable: Variable) -> VariableBody {
    VariableBody { key: variable.key, value: variable.value }
}
