//! SSH public keys in the OpenSSH format.

use ssh_key::{Algorithm, HashAlg};

use crate::violations::{BLANK, INVALID, Violations, check_max_length, has_no_control_chars};

/// A public key that the SSH server accepts, with its fingerprint, which is unique in the instance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublicKey {
    text: String,
    fingerprint: String,
}

impl PublicKey {
    pub fn parse(text: &str) -> Result<Self, Violations> {
        let text = text.trim();
        let problem = if text.is_empty() {
            Some(BLANK.into())
        } else if is_private_key(text) {
            Some("is a private key, which must stay secret. Use the public key, from the file that ends in .pub".into())
        } else if !has_no_control_chars(text) {
            Some("should be a single line".into())
        } else {
            check_max_length(text, 5000).err()
        };
        if let Some(problem) = problem {
            return Err(Violations::single("key", problem));
        }
        let key = ssh_key::PublicKey::from_openssh(text).ok().filter(|key| is_accepted(&key.algorithm()));
        let Some(key) = key else {
            let mut violations = Violations::single("key", INVALID);
            violations.add("fingerprint", "cannot be generated");
            return Err(violations);
        };
        if key.key_data().rsa().is_some_and(|rsa| rsa_bits(rsa.n().as_positive_bytes()) < MIN_RSA_BITS) {
            return Err(Violations::single("key", format!("is too short (minimum is {MIN_RSA_BITS} bits)")));
        }
        Ok(Self { text: text.to_owned(), fingerprint: key.fingerprint(HashAlg::Sha256).to_string() })
    }

    /// Returns the key as it was given, including its comment.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    pub fn fingerprint(&self) -> &str {
        &self.fingerprint
    }
}

/// Returns whether a text is a private key, in the format of OpenSSH, PEM or PuTTY.
pub fn is_private_key(text: &str) -> bool {
    text.contains("PRIVATE KEY-----") || text.contains("PuTTY-User-Key-File-")
}

/// Minimum size of an RSA key. Shorter keys can be broken.
const MIN_RSA_BITS: usize = 2048;

fn rsa_bits(number: Option<&[u8]>) -> usize {
    let bytes = number.unwrap_or_default();
    bytes.len() * 8 - bytes.first().map_or(0, |first| first.leading_zeros() as usize)
}

/// Returns whether keys of an algorithm are accepted. DSA is not: current SSH clients and servers do not support it.
fn is_accepted(algorithm: &Algorithm) -> bool {
    !matches!(algorithm, Algorithm::Dsa | Algorithm::Other(_))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ED25519: &str = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAILM+rvN+ot98qgEN796jTiQfZfG1KaT0PtFDJ/XFSqti ada@home";

    #[test]
    fn comment_is_kept_and_not_part_of_the_fingerprint() {
        let key = PublicKey::parse(&format!("  {ED25519}\n")).unwrap();
        assert_eq!(key.as_str(), ED25519);
        let other = PublicKey::parse(&ED25519.replace("ada@home", "work")).unwrap();
        assert_eq!(key.fingerprint(), other.fingerprint());
        assert!(key.fingerprint().starts_with("SHA256:"));
    }

    #[test]
    fn short_rsa_keys_are_rejected() {
        let key = "ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAAAgQDJiPNJIvkGh/QgMgT3/c7UZKPckWWbQOKJ7Gyx9NiNeoW0zF5ItJMI+Jjfn4rt1kpTeKlH09WNr2cFx/u99scA/PvJ9Z83+fwD/74vudaV1tHniVUqY9Zy4B5EzfOLroPNvaJSg+zJv00ZHsKiwvWAF9KUXHa110rKlgsbKMTPzw== weak";
        assert_eq!(PublicKey::parse(key), Err(Violations::single("key", "is too short (minimum is 2048 bits)")));
    }

    #[test]
    fn private_keys_are_recognized() {
        let texts = [
            "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNz\n-----END OPENSSH PRIVATE KEY-----",
            "-----BEGIN RSA PRIVATE KEY----- MIIE",
            "PuTTY-User-Key-File-3: ssh-ed25519\nEncryption: none",
        ];
        for text in texts {
            let violations = PublicKey::parse(text).unwrap_err();
            let message = violations.iter().flat_map(|(_, messages)| messages).next().cloned().unwrap_or_default();
            assert!(message.starts_with("is a private key"), "{text}: {message}");
        }
        assert!(!is_private_key(ED25519));
    }

    #[test]
    fn malformed_keys_are_rejected_with_a_reason() {
        let two_lines = format!("{ED25519}\n{ED25519}");
        assert_eq!(PublicKey::parse(&two_lines), Err(Violations::single("key", "should be a single line")));
        let mut nonsense = Violations::single("key", INVALID);
        nonsense.add("fingerprint", "cannot be generated");
        for text in ["this is no key", "ssh-rsa AAAA", "ssh-ed25519 !!!!", "ssh-ed25519"] {
            assert_eq!(PublicKey::parse(text), Err(nonsense.clone()), "{text}");
        }
    }
}
