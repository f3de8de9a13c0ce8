//! Takes secrets out of a stream.

const MASKED: &[u8] = b"[MASKED]";

/// Lines of a secret that are shorter than this are too common to hide: `}` or `EOF`.
const SHORTEST_LINE: usize = 8;

/// Replaces secrets, also those that come in pieces: what might be the beginning of one is held back.
#[derive(Debug, Default)]
pub struct Masker {
    /// The longest first, so that a secret within a secret does not show the rest.
    secrets: Vec<Vec<u8>>,
    held: Vec<u8>,
}

impl Masker {
    pub fn new<'a>(secrets: impl IntoIterator<Item = &'a str>) -> Masker {
        let mut all: Vec<Vec<u8>> = Vec::new();
        for secret in secrets {
            all.push(secret.trim_end_matches(['\r', '\n']).into());
            if secret.contains('\n') {
                all.extend(secret.lines().filter(|line| line.len() >= SHORTEST_LINE).map(Into::into));
            }
        }
        all.retain(|secret| !secret.is_empty());
        all.sort_by(|one, other| other.len().cmp(&one.len()).then(one.cmp(other)));
        all.dedup();
        Masker { secrets: all, held: Vec::new() }
    }

    pub fn push(&mut self, bytes: &[u8]) -> Vec<u8> {
        self.held.extend_from_slice(bytes);
        let held = std::mem::take(&mut self.held);
        let (clear, used) = self.mask(&held, false);
        self.held = held[used..].to_vec();
        clear
    }

    /// Nothing more comes: what was held back is no secret after all.
    pub fn finish(&mut self) -> Vec<u8> {
        let held = std::mem::take(&mut self.held);
        self.mask(&held, true).0
    }

    fn mask(&self, text: &[u8], is_end: bool) -> (Vec<u8>, usize) {
        let mut clear = Vec::with_capacity(text.len());
        let mut at = 0;
        while at < text.len() {
            let rest = &text[at..];
            if !is_end && self.secrets.iter().any(|secret| secret.len() > rest.len() && secret.starts_with(rest)) {
                break;
            }
            match self.secrets.iter().find(|secret| rest.starts_with(secret)) {
                Some(secret) => {
                    clear.extend_from_slice(MASKED);
                    at += secret.len();
                }
                None => {
                    clear.push(text[at]);
                    at += 1;
                }
            }
        }
        (clear, at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn in_pieces(secrets: &[&str], text: &str, size: usize) -> String {
        let mut masker = Masker::new(secrets.iter().copied());
        let mut clear: Vec<u8> = text.as_bytes().chunks(size).flat_map(|piece| masker.push(piece)).collect();
        clear.extend(masker.finish());
        String::from_utf8(clear).unwrap()
    }

    #[test]
    fn secrets_are_hidden_however_they_are_cut() {
        for size in 1..30 {
            assert_eq!(
                in_pieces(&["hunter22"], "a hunter22, hunter2 huhunter22", size),
                "a [MASKED], hunter2 hu[MASKED]"
            );
            assert_eq!(in_pieces(&["abc", "abcdef"], "abcdef abcd abc", size), "[MASKED] [MASKED]d [MASKED]");
            assert_eq!(in_pieces(&["aab"], "aaab", size), "a[MASKED]");
            assert_eq!(in_pieces(&["käse"], "käsekäs", size), "[MASKED]käs");
        }
    }

    #[test]
    fn what_cannot_be_a_secret_is_not_held_back() {
        let mut masker = Masker::new(["secret"]);
        assert_eq!(masker.push(b"plain se"), b"plain ");
        assert_eq!(masker.push(b"t"), b"set");
        assert_eq!(masker.push(b"s"), b"");
        assert_eq!(masker.finish(), b"s");
    }

    #[test]
    fn lines_of_a_long_secret_are_hidden_alone_too() {
        let key = "-----BEGIN KEY-----\nMIIEowIBAAKC\n}\n-----END KEY-----\n";
        assert_eq!(in_pieces(&[key], "x MIIEowIBAAKC y }", 3), "x [MASKED] y }");
        assert_eq!(in_pieces(&[key], key, 5), "[MASKED]\n");
    }

    #[test]
    fn no_secrets_no_change() {
        assert_eq!(in_pieces(&["", "\n"], "anything\n", 2), "anything\n");
    }
}
