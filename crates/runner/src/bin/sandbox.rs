//! The command `holdfast runner-sandbox` as a separate program, because the tests of this crate have no `holdfast`.

use std::process::ExitCode;

fn main() -> ExitCode {
    let is_inner = std::env::args().any(|argument| argument == holdfast_runner::sandbox::INNER_ARGUMENT);
    holdfast_runner::sandbox::main(is_inner)
}
