//! Masks a secret in a byte stream, even where it is split across chunks.

use bytes::Bytes;
use futures_util::{StreamExt, stream};
use holdfast_store::objects::ByteStream;

/// Replaces each occurrence of the secret by as many `x`, so that the length stays the same.
pub(super) fn mask(content: ByteStream, secret: String) -> ByteStream {
    if secret.is_empty() {
        return content;
    }
    let state = (Some(content), Vec::new());
    let next = move |(mut content, mut buffer): (Option<ByteStream>, Vec<u8>)| {
        let secret = secret.clone();
        async move {
            let chunk = match content.as_mut()?.next().await {
                Some(Ok(chunk)) => chunk,
                Some(Err(error)) => return Some((Err(error), (None, Vec::new()))),
                None => {
                    content = None;
                    return if buffer.is_empty() {
                        None
                    } else {
                        Some((Ok(Bytes::from(buffer)), (content, Vec::new())))
                    };
                }
            };
            buffer.extend_from_slice(&chunk);
            redact(&mut buffer, secret.as_bytes());
            // Keep back bytes that could be the beginning of the secret until the next chunk arrives.
            let overlap = buffer.len().min(secret.len() - 1);
            let rest = buffer.split_off(buffer.len() - overlap);
            Some((Ok(Bytes::from(buffer)), (content, rest)))
        }
    };
    stream::unfold(state, next).boxed()
}

/// Replaces each occurrence of the secret in a text that contains it as a whole.
pub(super) fn redact(text: &mut [u8], secret: &[u8]) {
    let mut from = 0;
    while let Some(at) = text[from..].windows(secret.len()).position(|part| part == secret) {
        text[from + at..from + at + secret.len()].fill(b'x');
        from += at + secret.len();
    }
}

#[cfg(test)]
mod tests {
    use futures_util::TryStreamExt;

    use super::*;

    #[tokio::test]
    async fn secrets_split_across_chunks_are_masked() {
        let text = "secret, a secre, secretsecret and se";
        for length in 1..text.len() {
            let chunks: Vec<_> = text.as_bytes().chunks(length).map(|it| Ok(Bytes::copy_from_slice(it))).collect();
            let output: Vec<Bytes> = mask(stream::iter(chunks).boxed(), "secret".into()).try_collect().await.unwrap();
            assert_eq!(output.concat(), b"xxxxxx, a secre, xxxxxxxxxxxx and se", "{length}");
        }
    }
}
