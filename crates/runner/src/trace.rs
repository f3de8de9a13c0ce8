//! What people read about a build.

use crate::mask::Masker;

type Sink = Box<dyn Fn(&[u8]) + Send + Sync>;

/// Masked, and cut where it becomes too long.
pub struct Trace {
    sink: Sink,
    masker: Masker,
    left: usize,
}

impl Trace {
    pub fn new(sink: Sink, limit: usize) -> Trace {
        Trace { sink, masker: Masker::default(), left: limit }
    }

    pub fn hide<'a>(&mut self, secrets: impl IntoIterator<Item = &'a str>) {
        self.flush();
        self.masker = Masker::new(secrets);
    }

    pub fn write(&mut self, bytes: &[u8]) {
        let clear = self.masker.push(bytes);
        self.send(&clear);
    }

    /// At the end of a step: nothing that follows belongs to what was held back.
    pub fn flush(&mut self) {
        let clear = self.masker.finish();
        self.send(&clear);
    }

    pub fn line(&mut self, text: &str) {
        self.write(text.as_bytes());
        self.write(b"\n");
    }

    /// What the runner is about to do.
    pub fn heading(&mut self, text: &str) {
        self.line(&format!("\x1b[36;1m{text}\x1b[0;m"));
    }

    pub fn warning(&mut self, text: &str) {
        self.line(&format!("\x1b[33;1mWARNING: {text}\x1b[0;m"));
    }

    pub fn error(&mut self, text: &str) {
        self.flush();
        // The end is worth more than the limit.
        self.left = self.left.max(text.len() + 100);
        self.line(&format!("\x1b[31;1mERROR: {text}\x1b[0;m"));
        self.flush();
    }

    fn send(&mut self, bytes: &[u8]) {
        if bytes.is_empty() || self.left == 0 {
            return;
        }
        let fits = bytes.len().min(self.left);
        (self.sink)(&bytes[..fits]);
        self.left -= fits;
        if self.left == 0 {
            (self.sink)(b"\n\x1b[33;1mThe trace is longer than this runner sends; the rest is left out.\x1b[0;m\n");
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    #[test]
    fn a_long_trace_is_cut_and_its_error_is_not() {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let sink = seen.clone();
        let mut trace = Trace::new(Box::new(move |bytes| sink.lock().unwrap().extend_from_slice(bytes)), 20);
        trace.hide(["secret"]);
        trace.write(b"a sec");
        trace.write(b"ret and a long story");
        trace.error("broken");
        let text = String::from_utf8(seen.lock().unwrap().clone()).unwrap();
        assert!(text.starts_with("a [MASKED] and a lon\n"), "{text}");
        assert!(text.contains("left out") && text.contains("ERROR: broken"), "{text}");
    }
}
