//! Presents CI variables of a project.

use holdfast_app::ci::variable::Variable;
use serde::Serialize;
use utoipa::ToSchema;

use crate::present::variable::{VariableBody, present_variable as present_fields};

/// A CI variable of a project.
#[derive(Serialize, ToSchema)]
pub struct ProjectVariableBody {
    /// Always `env_var`.
    pub variable_type: &'static str,
    #[serde(flatten)]
    pub fields: VariableBody,
    /// Always false.
    pub hidden: bool,
    /// Always false: the jobs of all branches receive the variable.
    pub protected: bool,
    /// Whether the value is masked in traces. Values of at least eight characters are.
    pub masked: bool,
    /// Always false: references to other variables in the value are replaced.
    pub raw: bool,
    /// Always `*`.
    pub environment_scope: &'static str,
    /// Always null.
    pub description: Option<String>,
}

pub fn present_variable(variable: Variable) -> ProjectVariableBody {
    ProjectVariableBody {
        variable_type: "env_var",
        hidden: false,
        protected: false,
        masked: variable.is_masked(),
        raw: false,
        environment_scope: "*",
        description: None,
        fields: present_fields(variable),
    }
}
