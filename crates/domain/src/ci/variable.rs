//! The names of variables that builds get.

/// What starts with these belongs to the server, to git, or to the program that starts others.
const RESERVED_PREFIXES: [&str; 6] = ["CI_", "GITLAB_", "GIT_", "LD_", "DYLD_", "BASH_FUNC_"];

/// Variables that make a shell, or what it starts, run or load something else; and what tells builds where they are.
const RESERVED_NAMES: [&str; 11] =
    ["CI", "ENV", "BASH_ENV", "BASHOPTS", "SHELLOPTS", "PROMPT_COMMAND", "PS4", "IFS", "CDPATH", "PATH", "HOME"];

/// Programs read these in upper or lower case.
const PROXIES: [&str; 5] = ["http_proxy", "https_proxy", "ftp_proxy", "all_proxy", "no_proxy"];

/// Settings of runners that are documented for users.
const RUNNER_SETTINGS: [&str; 3] = ["GIT_STRATEGY", "GIT_DEPTH", "GIT_SUBMODULE_STRATEGY"];

/// Returns whether a trigger may not set a variable of this name. Whoever holds the token of a trigger need not be able to
/// change the project's scripts, and could do so by these.
pub fn is_reserved(name: &str) -> bool {
    if RUNNER_SETTINGS.contains(&name) {
        return false;
    }
    RESERVED_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
        || RESERVED_NAMES.contains(&name)
        || PROXIES.iter().any(|proxy| name.eq_ignore_ascii_case(proxy))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_change_what_scripts_do_are_reserved() {
        let reserved = [
            "BASH_ENV",
            "ENV",
            "LD_PRELOAD",
            "LD_LIBRARY_PATH",
            "PATH",
            "http_proxy",
            "HTTP_PROXY",
            "Https_Proxy",
            "ALL_PROXY",
            "GIT_SSH_COMMAND",
            "GIT_CONFIG_COUNT",
            "CI",
            "CI_JOB_TOKEN",
            "CI_DEBUG_TRACE",
            "GITLAB_USER_ID",
            "BASH_FUNC_echo%%",
        ];
        for name in reserved {
            assert!(is_reserved(name), "{name}");
        }
    }

    #[test]
    fn ordinary_names_and_settings_of_runners_are_free() {
        for name in ["DEPLOY_TO", "VERSION", "A", "CIRCLE", "environment", "MY_PATH", "GIT_DEPTH", "GIT_STRATEGY"] {
            assert!(!is_reserved(name), "{name}");
        }
    }
}
