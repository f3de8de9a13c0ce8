//! Names and texts of all kinds that git takes.

use holdfast_tests::Dice;

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

/// A part of a path.
pub fn name(dice: &mut Dice) -> Vec<u8> {
    match dice.below(10) {
        0..=2 => dice.pick(ODD_NAMES).to_vec(),
        3 => [dice.pick(ODD_NAMES), dice.pick(WORDS).as_bytes(), dice.pick(ODD_NAMES)].concat(),
        // Longer than the field for it in an archive.
        4 if dice.one_in(8) => vec![b'l'; dice.between(90, 240)],
        4 | 5 => dice.pick(WORDS).as_bytes().to_vec(),
        6 => dice.pick(WORDS).to_uppercase().into_bytes(),
        _ => format!("{}{}.{}", dice.pick(WORDS), dice.below(30), dice.pick(&["txt", "rs", "md", "0"])).into_bytes(),
    }
}

fn line(dice: &mut Dice) -> Vec<u8> {
    let words: Vec<&str> = (0..dice.below(7)).map(|_| *dice.pick(WORDS)).collect();
    let mut line = words.join(" ").into_bytes();
    match dice.below(30) {
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

pub fn content(dice: &mut Dice) -> Vec<u8> {
    let lines = |dice: &mut Dice, end: &[u8]| {
        let count = dice.between(1, 40);
        (0..count).flat_map(|_| [&line(dice), end].concat()).collect::<Vec<u8>>()
    };
    match dice.below(14) {
        0 => Vec::new(),
        1 => (0..dice.between(1, 400)).map(|_| dice.roll() as u8).chain([0]).collect(),
        2 => [b"\x89PNG\r\n\0", &lines(dice, b"\n")[..]].concat(),
        3 | 4 => lines(dice, b"\r\n"),
        5 => lines(dice, b"\n").into_iter().chain(*b"no end").collect(),
        6 => vec![b'\n'; dice.between(1, 5)],
        // Git looks for the zero byte of a binary file in the beginning only.
        7 if dice.one_in(4) => lines(dice, b"\n").repeat(60).into_iter().chain([0, b'\n']).collect(),
        _ => lines(dice, b"\n"),
    }
}

/// The same with a few lines changed.
pub fn edited(dice: &mut Dice, content: &[u8]) -> Vec<u8> {
    let mut lines: Vec<Vec<u8>> = content.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
    for _ in 0..dice.between(1, 3) {
        let at = dice.below(lines.len() + 1);
        match dice.below(5) {
            0 if at < lines.len() => drop(lines.remove(at)),
            1 if at < lines.len() => lines[at].insert(0, b' '),
            2 if at < lines.len() => {
                lines.last_mut().unwrap().pop();
            }
            3 if at < lines.len() => lines[at] = [&line(dice), &b"\n"[..]].concat(),
            _ => lines.insert(at, [&line(dice), &b"\n"[..]].concat()),
        }
    }
    lines.concat()
}

/// From this size on a diff is not shown.
pub const LARGEST_DIFF: usize = 102_400;

/// A file whose diff as a new file is exactly so large.
pub fn with_diff_of(size: usize, path: &str) -> Vec<u8> {
    let lines = 1000;
    let head = format!("--- /dev/null\n+++ b/{path}\n@@ -0,0 +1,{lines} @@\n").len();
    let each = (size - head) / lines;
    let surplus = (size - head) % lines;
    // A sign before each line and its end behind it.
    let mut content = [vec![b'x'; each - 2], vec![b'\n']].concat().repeat(lines);
    content.splice(0..0, vec![b'y'; surplus]);
    content
}

/// Name and address of people: some have two names, some names have two addresses.
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

/// As it stands in a commit, without the time.
pub fn person(dice: &mut Dice) -> Vec<u8> {
    // Most of a history is by few people.
    let end = if dice.one_in(3) { PEOPLE.len() } else { 4 };
    let (name, address) = PEOPLE[dice.below(end)];
    [name, b" <", address, b">"].concat()
}

const ZONES: &[&str] = &["+0000", "+0000", "-0800", "+0530", "+1245", "-0330"];

pub fn zone(dice: &mut Dice) -> &'static str {
    ZONES[dice.below(ZONES.len())]
}

pub fn message(dice: &mut Dice) -> Vec<u8> {
    let subject = line(dice);
    match dice.below(9) {
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

/// A short name of a branch or a tag.
pub fn ref_name(dice: &mut Dice) -> String {
    match dice.below(3) {
        0 => format!("{}/{}", dice.pick(REF_NAMES), dice.below(20)),
        1 => format!("{}{}", dice.pick(WORDS), dice.below(20)),
        _ => (*dice.pick(REF_NAMES)).to_owned(),
    }
}
