//! Writes `git fast-import` streams.

/// A number by which later commands refer to an object.
pub type Mark = usize;

#[derive(Default)]
pub struct Stream(Vec<u8>);

impl Stream {
    pub fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.0)
    }

    fn line(&mut self, parts: &[&[u8]]) {
        self.0.extend(parts.concat());
        self.0.push(b'\n');
    }

    fn data(&mut self, bytes: &[u8]) {
        self.line(&[format!("data {}", bytes.len()).as_bytes()]);
        self.line(&[bytes]);
    }

    pub fn blob(&mut self, mark: Mark, content: &[u8]) {
        self.line(&[b"blob"]);
        self.line(&[format!("mark :{mark}").as_bytes()]);
        self.data(content);
    }

    /// Starts a commit; its files follow. `author` and `committer` include their times.
    pub fn commit(&mut self, mark: Mark, author: &[u8], committer: &[u8], message: &[u8], parents: &[Mark]) {
        // A commit without parents becomes a root only on a branch that was reset.
        self.reset("refs/work/tip", None);
        self.line(&[b"commit refs/work/tip"]);
        self.line(&[format!("mark :{mark}").as_bytes()]);
        self.line(&[b"author ", author]);
        self.line(&[b"committer ", committer]);
        self.data(message);
        for (place, parent) in parents.iter().enumerate() {
            self.line(&[if place == 0 { b"from" } else { b"merge" }, format!(" :{parent}").as_bytes()]);
        }
        self.line(&[b"deleteall"]);
    }

    /// Adds a file to the commit; `object` is a mark or an id.
    pub fn file(&mut self, mode: &str, object: &str, path: &[u8]) {
        self.line(&[b"M ", mode.as_bytes(), b" ", object.as_bytes(), b" ", quote_path(path).as_bytes()]);
    }

    pub fn reset(&mut self, name: &str, target: Option<Mark>) {
        self.line(&[b"reset ", name.as_bytes()]);
        match target {
            Some(mark) => self.line(&[format!("from :{mark}\n").as_bytes()]),
            None => self.line(&[]),
        }
    }

    pub fn delete(&mut self, name: &str) {
        self.line(&[b"reset ", name.as_bytes()]);
        self.line(&[b"from ", &[b'0'; 40], b"\n"]);
    }

    pub fn tag(&mut self, mark: Mark, name: &str, target: Mark, tagger: &[u8], message: &[u8]) {
        self.line(&[b"tag ", name.as_bytes()]);
        self.line(&[format!("mark :{mark}").as_bytes()]);
        self.line(&[format!("from :{target}").as_bytes()]);
        self.line(&[b"tagger ", tagger]);
        self.data(message);
    }
}

fn quote_path(path: &[u8]) -> String {
    let mut text = String::from('"');
    for byte in path {
        match byte {
            b' ' | b'!' | b'#'..=b'[' | b']'..=b'~' => text.push(char::from(*byte)),
            _ => text.push_str(&format!("\\{byte:03o}")),
        }
    }
    text.push('"');
    text
}
