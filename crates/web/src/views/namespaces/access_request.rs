//! The button that requests access to a project or a group, or withdraws the request.

/// The button of a viewer who is not a member.
#[derive(Clone, Debug)]
pub struct AccessRequestButton {
    pub url: String,
    pub label: &'static str,
}

impl AccessRequestButton {
    /// Returns the button for a viewer who has requested access, or who can request it. Returns None for all others.
    pub fn for_viewer(state: AccessRequestState, request_url: String, withdraw_url: String) -> Option<Self> {
        match state {
            AccessRequestState::Pending => Some(Self { url: withdraw_url, label: "Withdraw the request for access" }),
            AccessRequestState::Possible => Some(Self { url: request_url, label: "Request access" }),
            AccessRequestState::Impossible => None,
        }
    }
}

/// Whether a viewer has requested access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessRequestState {
    /// The viewer waits for a decision.
    Pending,
    /// The viewer can request access.
    Possible,
    /// The viewer is a member, or requests are not accepted.
    Impossible,
}

impl AccessRequestState {
    /// Returns the state of a viewer for whom a request is pending, or who can make one.
    pub const fn new((is_pending, can_request): (bool, bool)) -> Self {
        match (is_pending, can_request) {
            (true, _) => Self::Pending,
            (false, true) => Self::Possible,
            (false, false) => Self::Impossible,
        }
    }
}
