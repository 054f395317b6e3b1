//! A picture of the house: crates above those they need, and the rooms of the library in the order in which they import.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::Path;

use crate::layers::{self, Crate, Graph, HELD};

/// Where the picture is.
const PICTURE: &str = "docs/images/house.svg";
const WIDTH: usize = 1180;
const ROW: usize = 22;
const GAP: usize = 12;
/// Room for the name of a room.
const NAMES: usize = 110;

/// Draws the picture anew.
pub(crate) fn draw(root: &Path) -> Result<(), String> {
    let path = root.join(PICTURE);
    fs::write(&path, picture(root)?).map_err(|error| format!("{}: {error}", path.display()))
}

/// Fails if the picture is not that of the code.
pub(crate) fn check(root: &Path) -> Result<(), String> {
    let found = fs::read_to_string(root.join(PICTURE)).unwrap_or_default();
    if found == picture(root)? {
        Ok(())
    } else {
        Err(format!("{PICTURE} is not the house as it is; `cargo xtask house` draws it"))
    }
}

/// A box of the picture.
struct Block {
    name: String,
    width: usize,
    lines: Vec<(String, String)>,
}

impl Block {
    fn height(&self) -> usize {
        2 * ROW + self.lines.len() * ROW
    }
}

fn picture(root: &Path) -> Result<String, String> {
    let crates = layers::crates(root)?;
    let graph: Graph = crates.iter().map(|one| (one.name.clone(), one.needs.clone())).collect();
    let order = layers::layers(&graph).map_err(|cycle| cycle.join(" -> "))?;
    let mut floor: BTreeMap<&str, usize> = BTreeMap::new();
    for name in &order {
        let below = graph[name].iter().filter_map(|other| floor.get(other.as_str())).max();
        floor.insert(name, below.map_or(0, |below| below + 1));
    }
    let floors = floor.values().max().map_or(0, |top| top + 1);
    let mut drawing = String::new();
    let mut y = 64;
    for level in (0..floors).rev() {
        let here = crates.iter().filter(|one| floor[one.name.as_str()] == level);
        let here: Vec<&Crate> = here.collect();
        let share = |one: &Crate| if HELD.contains(&one.name.as_str()) { 4 } else { 1 };
        let shares: usize = here.iter().map(|one| share(one)).sum();
        let unit = (WIDTH - GAP * (here.len() + 1)) / shares.max(1);
        let blocks: Vec<Block> =
            here.iter().map(|one| block(root, one, unit * share(one))).collect::<Result<_, _>>()?;
        let height = blocks.iter().map(Block::height).max().unwrap_or(0);
        let mut x = GAP;
        for block in &blocks {
            paint(&mut drawing, block, (x, y), height);
            x += block.width + GAP;
        }
        y += height + GAP;
    }
    Ok(format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {y}\" font-family=\"sans-serif\">\n\
         <title>The house: crates and rooms</title>\n\
         <rect width=\"{WIDTH}\" height=\"{y}\" fill=\"#ffffff\"/>\n\
         <text x=\"{GAP}\" y=\"28\" font-size=\"18\" font-weight=\"bold\" fill=\"#1b1f24\">The house</text>\n\
         <text x=\"{GAP}\" y=\"50\" font-size=\"13\" fill=\"#57606a\">A crate needs crates on lower floors alone. In the library and \
         its engine, a room imports rooms below it alone.</text>\n{drawing}</svg>\n"
    ))
}

fn block(root: &Path, one: &Crate, width: usize) -> Result<Block, String> {
    if !HELD.contains(&one.name.as_str()) {
        return Ok(Block { name: one.name.clone(), width, lines: wrapped(&one.description, width / 7) });
    }
    let files = layers::sources(root, &one.name)?;
    let graph = layers::rooms(&files);
    let order = layers::layers(&graph).map_err(|cycle| cycle.join(" -> "))?;
    let about = |room: &str| {
        let file = files.iter().find(|(path, _)| path == &format!("{room}.rs"));
        let first = file.and_then(|(_, text)| text.lines().next()).unwrap_or_default();
        fitting(first.trim_start_matches("//!").trim(), (width - NAMES) / 7)
    };
    let lines = order.iter().rev().map(|room| (room.clone(), about(room))).collect();
    Ok(Block { name: one.name.clone(), width, lines })
}

/// The text, or what stands before a mark in it, if it is longer than so many characters.
fn fitting(text: &str, most: usize) -> String {
    let ends = [": ", "; ", ", "].iter().filter_map(|mark| text.find(mark));
    match ends.min().filter(|_| text.len() > most) {
        Some(end) => format!("{}.", &text[..end]),
        None => text.to_owned(),
    }
}

/// Text in lines of about so many characters, without names.
fn wrapped(text: &str, width: usize) -> Vec<(String, String)> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let last = lines.last_mut().expect("there is one");
        if !last.is_empty() && last.len() + word.len() >= width {
            lines.push(word.to_owned());
        } else {
            if !last.is_empty() {
                last.push(' ');
            }
            last.push_str(word);
        }
    }
    lines.into_iter().map(|line| (String::new(), line)).collect()
}

fn paint(drawing: &mut String, block: &Block, (x, y): (usize, usize), height: usize) {
    let width = block.width;
    let is_open = block.lines.iter().any(|(name, _)| !name.is_empty());
    let fill = if is_open { "#eef6ff" } else { "#f6f8fa" };
    // Writing to a string does not fail.
    let _ = writeln!(
        drawing,
        "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" rx=\"6\" fill=\"{fill}\" stroke=\"#8c959f\"/>\n\
         <text x=\"{}\" y=\"{}\" font-size=\"13\" font-weight=\"bold\" fill=\"#1b1f24\">{}</text>",
        x + 10,
        y + 24,
        block.name
    );
    for (at, (name, about)) in block.lines.iter().enumerate() {
        let y = y + 26 + (at + 1) * ROW;
        let shift = if is_open { NAMES } else { 0 };
        if !name.is_empty() {
            let _ = writeln!(
                drawing,
                "<text x=\"{}\" y=\"{y}\" font-size=\"13\" fill=\"#0550ae\">{name}</text>",
                x + 10
            );
        }
        let size = if is_open { 13 } else { 11 };
        let _ = writeln!(
            drawing,
            "<text x=\"{}\" y=\"{y}\" font-size=\"{size}\" fill=\"#424a53\">{}</text>",
            x + 10 + shift,
            escaped(about)
        );
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('`', "")
}
