//! What was pushed once and no ref leads to any more: nobody gets to see it. Each test tells the attack.

use holdfast_tests::WorkTree;

use crate::git_security::{NONE, hex, packet, world};

/// An id that somebody has heard of is no way to its object: neither by naming it as the value of a ref, nor by a tree that
/// holds it, nor by a delta against it.
#[tokio::test]
async fn what_was_not_sent_and_is_not_reached_cannot_be_used() {
    let world = world().await;
    let url = world.server.git_url(&world.ada, "ada/p");
    let secret_tree = WorkTree::new().await;
    let noise: String = (0..400).map(|n| format!("line {n} of the secret {}\n", n * 7919 % 997)).collect();
    let secret = secret_tree.commit("secret", noise.as_bytes(), "secret").await;
    let blob = secret_tree.git(["rev-parse", "HEAD:secret"]).await.ok().line().to_owned();
    secret_tree.push(&url, &["main:secret"]).await.ok();
    secret_tree.push(&url, &[":secret"]).await.ok();
    let before = world.refs().await;
    let empty = empty_pack();
    for name in ["refs/heads/stolen", "refs/tags/stolen"] {
        for id in [&secret, &blob] {
            let (_, text) = world.push(&[(NONE, id, name)], &empty).await;
            assert!(text.contains(&format!("ng {name}")), "{text}");
        }
    }
    // A commit of the thief's own whose tree holds the secret, without the secret itself.
    let thief = WorkTree::new().await;
    thief.git(["fetch", "-q", secret_tree.path().to_str().unwrap(), "main"]).await.ok();
    let tree = thief.git(["rev-parse", "FETCH_HEAD^{tree}"]).await.ok().line().to_owned();
    let commit = thief.git(["commit-tree", &tree, "-m", "mine"]).await.ok().line().to_owned();
    let pack_ids = async |ids: &[&str], arguments: &[&str]| {
        std::fs::write(thief.path().join("ids"), ids.join("\n") + "\n").unwrap();
        let output = std::process::Command::new("sh")
            .current_dir(thief.path())
            .args(["-c", &format!("git pack-objects -q --stdout {} < ids", arguments.join(" "))])
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        output.stdout
    };
    let without_blob = pack_ids(&[&commit, &tree], &[]).await;
    let (_, text) = world.push(&[(NONE, &commit, "refs/heads/stolen")], &without_blob).await;
    assert!(text.contains("ng refs/heads/stolen missing necessary objects"), "{text}");
    // The same, with the secret as the base of a delta, which the server would have to complete.
    let similar = format!("{noise}one more line\n");
    std::fs::write(thief.path().join("secret"), &similar).unwrap();
    std::fs::write(thief.path().join("copy"), &noise).unwrap();
    thief.git(["add", "secret", "copy"]).await.ok();
    let both = thief.git(["write-tree"]).await.ok().line().to_owned();
    let commit = thief.git(["commit-tree", &both, "-m", "both"]).await.ok().line().to_owned();
    let thin = pack_ids(&[&commit, &format!("^{secret}")], &["--thin", "--revs", "--shallow"]).await;
    assert!(thin.len() < 600, "the secret is left out, and what is like it is a delta: {} bytes", thin.len());
    let (_, text) = world.push(&[(NONE, &commit, "refs/heads/stolen")], &thin).await;
    assert!(text.contains("unpack git index-pack failed") && text.contains("ng refs/heads/stolen"), "{text}");
    assert_eq!(world.refs().await, before);
}

/// A pack without objects, as clients send it along with a ref to something old.
fn empty_pack() -> Vec<u8> {
    let mut pack = b"PACK\0\0\0\x02\0\0\0\0".to_vec();
    pack.extend(hex("029d08823bd8a8eab510ad6ac75c823cfd3ed31e"));
    pack
}

/// To deepen a shallow history git goes on behind its ends, wherever a client says those are.
#[tokio::test]
async fn what_lies_behind_a_made_up_end_is_not_shown() {
    let world = world().await;
    let url = world.server.git_url(&world.ada, "ada/p");
    let hidden = WorkTree::new().await;
    let behind = hidden.commit("secret", b"hunter2\n", "secret").await;
    let end = hidden.commit("more", b"more\n", "more").await;
    hidden.push(&url, &["main:hidden"]).await.ok();
    hidden.push(&url, &[":hidden"]).await.ok();
    let tip = world.refs().await.split('\t').next().unwrap().to_owned();
    let fetch = |depth: &str| {
        let mut body = packet("command=fetch");
        body.extend_from_slice(b"0001");
        for line in [format!("want {tip}\n"), format!("shallow {end}\n"), format!("deepen {depth}\n"), "done\n".into()]
        {
            body.extend(packet(&line));
        }
        body.extend_from_slice(b"0000");
        let address = format!("{}/ada/p.git/git-upload-pack", world.server.base);
        reqwest::Client::new()
            .post(address)
            .header("Content-Type", "application/x-git-upload-pack-request")
            .header("Git-Protocol", "version=2")
            .body(body)
            .send()
    };
    for depth in ["2147483647", "0x7fffffff", "5"] {
        let bytes = fetch(depth).await.unwrap().bytes().await.unwrap();
        let text = String::from_utf8_lossy(&bytes);
        assert!(!text.contains(&behind) && !text.contains(&format!("unshallow {end}")), "{depth}: {text}");
    }
    // The blob of the parent is what `sparse:oid` would read.
    let blob = hidden.git(["rev-parse", "HEAD:secret"]).await.ok().line().to_owned();
    let filter = format!("--filter=sparse:oid={blob}");
    let (refused, _) = WorkTree::clone(&url, &["--no-checkout", &filter]).await;
    assert!(refused.refused().stderr.contains("not supported"));
}
