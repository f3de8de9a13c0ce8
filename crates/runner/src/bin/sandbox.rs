//! What `holdfast runner-sandbox` does, as a program of its own: the tests of this crate have no `holdfast`.

use std::process::ExitCode;

fn main() -> ExitCode {
    let is_inner = std::env::args().any(|argument| argument == holdfast_runner::sandbox::INNER);
    holdfast_runner::sandbox::main(is_inner)
}
