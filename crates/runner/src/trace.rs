//! The trace of a build: the output of its scripts and the messages of the runner.

use crate::mask::Masker;

type TraceWriter = Box<dyn Fn(&[u8]) + Send + Sync>;

/// A trace that masks secrets and is truncated at a maximum size.
pub struct Trace {
    writer: TraceWriter,
    masker: Masker,
    remaining_bytes: usize,
}

impl Trace {
    pub fn new(writer: TraceWriter, limit: usize) -> Trace {
        Trace { writer, masker: Masker::default(), remaining_bytes: limit }
    }

    pub fn set_secrets<'a>(&mut self, secrets: impl IntoIterator<Item = &'a str>) {
        self.flush();
        self.masker = Masker::new(secrets);
    }

    pub fn write(&mut self, bytes: &[u8]) {
        let clear = self.masker.push(bytes);
        self.send(&clear);
    }

    /// Writes the bytes that the masker holds back. Called at the end of a step, when no more output can complete a
    /// secret.
    pub fn flush(&mut self) {
        let clear = self.masker.finish();
        self.send(&clear);
    }

    pub fn line(&mut self, text: &str) {
        self.write(text.as_bytes());
        self.write(b"\n");
    }

    /// Writes a highlighted line that announces the next step.
    pub fn heading(&mut self, text: &str) {
        self.line(&format!("\x1b[36;1m{text}\x1b[0;m"));
    }

    pub fn warning(&mut self, text: &str) {
        self.line(&format!("\x1b[33;1mWARNING: {text}\x1b[0;m"));
    }

    pub fn error(&mut self, text: &str) {
        self.flush();
        // The error message is written even if the trace has reached its maximum size.
        self.remaining_bytes = self.remaining_bytes.max(text.len() + 100);
        self.line(&format!("\x1b[31;1mERROR: {text}\x1b[0;m"));
        self.flush();
    }

    fn send(&mut self, bytes: &[u8]) {
        if bytes.is_empty() || self.remaining_bytes == 0 {
            return;
        }
        let length = bytes.len().min(self.remaining_bytes);
        (self.writer)(&bytes[..length]);
        self.remaining_bytes -= length;
        if self.remaining_bytes == 0 {
            (self.writer)(b"\n\x1b[33;1mThe trace exceeds the limit of this runner; the rest is discarded.\x1b[0;m\n");
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    #[test]
    fn long_traces_are_truncated_and_errors_are_kept() {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let writer = seen.clone();
        let mut trace = Trace::new(Box::new(move |bytes| writer.lock().unwrap().extend_from_slice(bytes)), 20);
        trace.set_secrets(["secret"]);
        trace.write(b"a sec");
        trace.write(b"ret and a long story");
        trace.error("broken");
        let text = String::from_utf8(seen.lock().unwrap().clone()).unwrap();
        assert!(text.starts_with("a [MASKED] and a lon\n"), "{text}");
        assert!(text.contains("discarded") && text.contains("ERROR: broken"), "{text}");
    }
}
