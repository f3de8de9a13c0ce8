//! Masks secrets in a stream of bytes.

const MASKED: &[u8] = b"[MASKED]";

/// Lines of a multi-line secret that are shorter than this, such as `}` or `EOF`, are too common to be masked on their
/// own. The number is arbitrary.
const MIN_LINE_BYTES: usize = 8;

/// A filter that replaces secrets, including those that are split across chunks: bytes that may be the beginning of a
/// secret are held back until the next chunk.
#[derive(Debug, Default)]
pub struct Masker {
    /// Sorted by length, longest first: if a secret contains another one, the whole is masked.
    secrets: Vec<Vec<u8>>,
    pending: Vec<u8>,
}

impl Masker {
    pub fn new<'a>(secrets: impl IntoIterator<Item = &'a str>) -> Masker {
        let mut patterns: Vec<Vec<u8>> = Vec::new();
        for secret in secrets {
            patterns.push(secret.trim_end_matches(['\r', '\n']).into());
            if secret.contains('\n') {
                patterns.extend(secret.lines().filter(|line| line.len() >= MIN_LINE_BYTES).map(Into::into));
            }
        }
        patterns.retain(|secret| !secret.is_empty());
        patterns.sort_by(|one, other| other.len().cmp(&one.len()).then(one.cmp(other)));
        patterns.dedup();
        Masker { secrets: patterns, pending: Vec::new() }
    }

    pub fn push(&mut self, bytes: &[u8]) -> Vec<u8> {
        self.pending.extend_from_slice(bytes);
        let pending = std::mem::take(&mut self.pending);
        let (clear, used) = self.mask(&pending, false);
        self.pending = pending[used..].to_vec();
        clear
    }

    /// Returns the bytes that were held back, masked. The following output is matched anew.
    pub fn finish(&mut self) -> Vec<u8> {
        let pending = std::mem::take(&mut self.pending);
        self.mask(&pending, true).0
    }

    fn mask(&self, text: &[u8], is_end: bool) -> (Vec<u8>, usize) {
        let mut clear = Vec::with_capacity(text.len());
        let mut position = 0;
        while position < text.len() {
            let rest = &text[position..];
            if !is_end && self.secrets.iter().any(|secret| secret.len() > rest.len() && secret.starts_with(rest)) {
                break;
            }
            match self.secrets.iter().find(|secret| rest.starts_with(secret)) {
                Some(secret) => {
                    clear.extend_from_slice(MASKED);
                    position += secret.len();
                }
                None => {
                    clear.push(text[position]);
                    position += 1;
                }
            }
        }
        (clear, position)
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
    fn secrets_split_across_chunks_are_masked() {
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
    fn output_that_cannot_match_is_not_delayed() {
        let mut masker = Masker::new(["secret"]);
        assert_eq!(masker.push(b"plain se"), b"plain ");
        assert_eq!(masker.push(b"t"), b"set");
        assert_eq!(masker.push(b"s"), b"");
        assert_eq!(masker.finish(), b"s");
    }

    #[test]
    fn lines_of_multiline_secrets_are_masked_separately() {
        let key = "-----BEGIN KEY-----\nMIIEowIBAAKC\n}\n-----END KEY-----\n";
        assert_eq!(in_pieces(&[key], "x MIIEowIBAAKC y }", 3), "x [MASKED] y }");
        assert_eq!(in_pieces(&[key], key, 5), "[MASKED]\n");
    }

    #[test]
    fn text_without_secrets_is_unchanged() {
        assert_eq!(in_pieces(&["", "\n"], "anything\n", 2), "anything\n");
    }
}
