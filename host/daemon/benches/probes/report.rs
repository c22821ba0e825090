//! The lines that are printed.

/// A heading.
pub(crate) fn part(title: &str) {
    println!("\n{title}");
}

/// A figure with nothing to hold it against.
pub(crate) fn figure(what: &str, value: &str) {
    println!("  {what:<58} {value}");
}

/// A figure that should be below its aim.
pub(crate) fn below(what: &str, value: f64, aim: f64, unit: &str) {
    judged(what, value, aim, unit, "below", value < aim);
}

/// A figure that should be above its aim.
pub(crate) fn above(what: &str, value: f64, aim: f64, unit: &str) {
    judged(what, value, aim, unit, "above", value > aim);
}

fn judged(what: &str, value: f64, aim: f64, unit: &str, side: &str, met: bool) {
    let digits = if aim < 10.0 { 2 } else { usize::from(aim < 1000.0) };
    let verdict = if met { "met" } else { "NOT met" };
    let value = format!("{value:.digits$} {unit}");
    println!("  {what:<58} {value}   aim: {side} {aim} {unit}: {verdict}");
}

/// The middle one, or the mean of the two in the middle. Zero of none.
pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let half = values.len() / 2;
    let upper = values.get(half).copied().unwrap_or_default();
    if values.len() % 2 == 1 {
        return upper;
    }
    let lower = half.checked_sub(1).and_then(|place| values.get(place)).copied();
    f64::midpoint(lower.unwrap_or_default(), upper)
}
