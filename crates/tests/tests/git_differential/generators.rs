//! Random names and contents of the kinds that git accepts.

use holdfast_tests::SeededRng;

const ODD_NAMES: &[&[u8]] = &[
    b"two words",
    b" leading",
    b"trailing ",
    b"\"quoted\"",
    b"it's",
    b"new\nline",
    b"\n",
    b"tab\tbed",
    b"back\\slash",
    b"\\n",
    b"-",
    b"-dash",
    b"--all",
    b":(top)",
    b":0:x",
    b"*",
    b"[a-z]",
    b"?",
    b"#",
    b"%41",
    b"a&b=c",
    b"plus+plus",
    b"~",
    b"$HOME",
    b"@{u}",
    b"HEAD",
    b"...",
    b".hidden",
    b"\x01\x7f",
    b"cr\r",
    b"\xff\xfe",
    b"latin\xe9.txt",
    b"half\xe2\x82",
    "größe.txt".as_bytes(),
    "日本語".as_bytes(),
    "e\u{301}".as_bytes(),
    "🙂".as_bytes(),
    b"x.skip",
    b"ends.crlf",
    b"stamp.subst",
];

const WORDS: &[&str] =
    &["alpha", "beta", "gamma", "delta", "engine", "wheel", "axle", "src", "lib", "doc", "test", "a"];

/// Returns a random path component.
pub fn name(rng: &mut SeededRng) -> Vec<u8> {
    match rng.next_below(10) {
        0..=2 => rng.pick(ODD_NAMES).to_vec(),
        3 => [rng.pick(ODD_NAMES), rng.pick(WORDS).as_bytes(), rng.pick(ODD_NAMES)].concat(),
        // Longer than the name field of a tar header.
        4 if rng.one_in(8) => vec![b'l'; rng.next_between(90, 240)],
        4 | 5 => rng.pick(WORDS).as_bytes().to_vec(),
        6 => rng.pick(WORDS).to_uppercase().into_bytes(),
        _ => format!("{}{}.{}", rng.pick(WORDS), rng.next_below(30), rng.pick(&["txt", "rs", "md", "0"])).into_bytes(),
    }
}

fn line(rng: &mut SeededRng) -> Vec<u8> {
    let words: Vec<&str> = (0..rng.next_below(7)).map(|_| *rng.pick(WORDS)).collect();
    let mut line = words.join(" ").into_bytes();
    match rng.next_below(30) {
        0 => line.extend(b" caf\xe9"),
        1 => line.extend("  ünï\t日本".as_bytes()),
        2 => line = b"--- a/x".to_vec(),
        3 => line = b"diff --git a/x b/x".to_vec(),
        4 => line.push(b'\r'),
        5 => line = b"$Format:%H %an$".to_vec(),
        _ => {}
    }
    line
}

pub fn content(rng: &mut SeededRng) -> Vec<u8> {
    let lines = |rng: &mut SeededRng, end: &[u8]| {
        let count = rng.next_between(1, 40);
        (0..count).flat_map(|_| [&line(rng), end].concat()).collect::<Vec<u8>>()
    };
    match rng.next_below(14) {
        0 => Vec::new(),
        1 => (0..rng.next_between(1, 400)).map(|_| rng.next_u64() as u8).chain([0]).collect(),
        2 => [b"\x89PNG\r\n\0", &lines(rng, b"\n")[..]].concat(),
        3 | 4 => lines(rng, b"\r\n"),
        5 => lines(rng, b"\n").into_iter().chain(*b"no end").collect(),
        6 => vec![b'\n'; rng.next_between(1, 5)],
        // git looks for a zero byte only at the beginning of a file when it decides whether the file is binary.
        7 if rng.one_in(4) => lines(rng, b"\n").repeat(60).into_iter().chain([0, b'\n']).collect(),
        _ => lines(rng, b"\n"),
    }
}

/// Returns a copy of the content with a few lines changed.
pub fn edit(rng: &mut SeededRng, content: &[u8]) -> Vec<u8> {
    let mut lines: Vec<Vec<u8>> = content.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
    for _ in 0..rng.next_between(1, 3) {
        let at = rng.next_below(lines.len() + 1);
        match rng.next_below(5) {
            0 if at < lines.len() => drop(lines.remove(at)),
            1 if at < lines.len() => lines[at].insert(0, b' '),
            2 if at < lines.len() => {
                lines.last_mut().unwrap().pop();
            }
            3 if at < lines.len() => lines[at] = [&line(rng), &b"\n"[..]].concat(),
            _ => lines.insert(at, [&line(rng), &b"\n"[..]].concat()),
        }
    }
    lines.concat()
}

/// Diffs of this size or more are not shown.
pub const MAX_DIFF_BYTES: usize = 102_400;

/// Returns a file whose diff as a new file has exactly `size` bytes.
pub fn content_with_diff(size: usize, path: &str) -> Vec<u8> {
    let lines = 1000;
    let head = format!("--- /dev/null\n+++ b/{path}\n@@ -0,0 +1,{lines} @@\n").len();
    let each = (size - head) / lines;
    let surplus = (size - head) % lines;
    // Each line has a sign before it and a line break after it.
    let mut content = [vec![b'x'; each - 2], vec![b'\n']].concat().repeat(lines);
    content.splice(0..0, vec![b'y'; surplus]);
    content
}

/// Names and addresses of authors. Some people have two names, and some names have two addresses.
const PEOPLE: &[(&[u8], &[u8])] = &[
    (b"Ada", b"ada@example.com"),
    (b"Ada", b"Ada@Example.com"),
    (b"Ada Lovelace", b"ada@example.com"),
    (b"Bea", b"bea@example.com"),
    (b"Caf\xe9 Owner", b"cafe@example.com"),
    (b"\xff\xfe", b"bytes@example.com"),
    ("Zoë Ünïcode 🙂".as_bytes(), "zoë@example.com".as_bytes()),
    (b"Latin", b"lat\xefn@example.com"),
    (b"O'Brien \"Bob\" & Co.", b"bob+git@example.com"),
    (b"No Address", b""),
    (b"Spaced", b" spaced@example.com "),
    (b"", b"nameless@example.com"),
    (b"Odd", b"not an address"),
];

/// Returns an author as it is written in a commit, without the time.
pub fn person(rng: &mut SeededRng) -> Vec<u8> {
    // Most commits of a history are by few authors.
    let end = if rng.one_in(3) { PEOPLE.len() } else { 4 };
    let (name, address) = PEOPLE[rng.next_below(end)];
    [name, b" <", address, b">"].concat()
}

const ZONES: &[&str] = &["+0000", "+0000", "-0800", "+0530", "+1245", "-0330"];

pub fn zone(rng: &mut SeededRng) -> &'static str {
    ZONES[rng.next_below(ZONES.len())]
}

pub fn message(rng: &mut SeededRng) -> Vec<u8> {
    let subject = line(rng);
    match rng.next_below(9) {
        0 => Vec::new(),
        1 => subject,
        2 => [&subject, &b"\n\nA body\nof lines.\n"[..]].concat(),
        3 => [&subject, &b"\r\n\r\nA body\r\n"[..]].concat(),
        4 => [&b"\n\n  "[..], &subject, b"\n\n\n"].concat(),
        5 => b"caf\xe9 \xff\n".to_vec(),
        6 => "Größe “quoted” 🙂\n".into(),
        _ => [&subject, &b"\n"[..]].concat(),
    }
}

const REF_NAMES: &[&str] = &[
    "topic",
    "fix",
    "v1.0",
    "a/b",
    "feature/x",
    "feature/y/z",
    "ünï/日本",
    "it's",
    "\"q\"",
    "a&b",
    "50%",
    "a+b",
    "a#b",
    "x;y",
    "a=b",
    "100",
    "UPPER",
    "upper",
    "a.b",
    "(x)",
    "a@b",
    "refs/heads/odd",
    "deadbeef",
    "a,b",
    "$x",
    "!",
];

/// Returns a random short name of a branch or a tag.
pub fn ref_name(rng: &mut SeededRng) -> String {
    match rng.next_below(3) {
        0 => format!("{}/{}", rng.pick(REF_NAMES), rng.next_below(20)),
        1 => format!("{}{}", rng.pick(WORDS), rng.next_below(20)),
        _ => (*rng.pick(REF_NAMES)).to_owned(),
    }
}
