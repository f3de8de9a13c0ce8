//! Leaving a secret out of what passes by, wherever it is cut.

use bytes::Bytes;
use futures_util::{StreamExt, stream};
use holdfast_store::objects::Content;

/// Its characters become crosses: the length stays.
pub(super) fn masked(content: Content, secret: String) -> Content {
    if secret.is_empty() {
        return content;
    }
    let state = (Some(content), Vec::new());
    let next = move |(mut content, mut held): (Option<Content>, Vec<u8>)| {
        let secret = secret.clone();
        async move {
            let chunk = match content.as_mut()?.next().await {
                Some(Ok(chunk)) => chunk,
                Some(Err(error)) => return Some((Err(error), (None, Vec::new()))),
                None => {
                    content = None;
                    return if held.is_empty() { None } else { Some((Ok(Bytes::from(held)), (content, Vec::new()))) };
                }
            };
            held.extend_from_slice(&chunk);
            cross_out(&mut held, secret.as_bytes());
            // What could be the beginning of it waits for the rest.
            let kept = held.len().min(secret.len() - 1);
            let rest = held.split_off(held.len() - kept);
            Some((Ok(Bytes::from(held)), (content, rest)))
        }
    };
    stream::unfold(state, next).boxed()
}

fn cross_out(text: &mut [u8], secret: &[u8]) {
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
    async fn a_secret_is_found_wherever_it_is_cut() {
        let text = "secret, a secre, secretsecret and se";
        for length in 1..text.len() {
            let pieces: Vec<_> = text.as_bytes().chunks(length).map(|it| Ok(Bytes::copy_from_slice(it))).collect();
            let shown: Vec<Bytes> = masked(stream::iter(pieces).boxed(), "secret".into()).try_collect().await.unwrap();
            assert_eq!(shown.concat(), b"xxxxxx, a secre, xxxxxxxxxxxx and se", "{length}");
        }
    }
}
