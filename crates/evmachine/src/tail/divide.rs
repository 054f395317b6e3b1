//! Neighbours in space made neighbours in order.

/// Orders the positions so that every `leaf` of them in a row lie close together: halves by the dimension in which they
/// spread most.
pub(super) fn divide(values: &[f32], d: usize, leaf: usize, order: &mut [usize]) {
    if order.len() <= leaf {
        return;
    }
    let (mut sums, mut squares) = (vec![0.0; d], vec![0.0; d]);
    for &position in &*order {
        let row = &values[position * d..(position + 1) * d];
        for ((sum, square), &value) in sums.iter_mut().zip(&mut squares).zip(row) {
            let value = f64::from(value);
            *sum += value;
            *square += value * value;
        }
    }
    let spread = |i: usize| squares[i] - sums[i] * sums[i] / order.len() as f64;
    let widest = (0..d).max_by(|&a, &b| spread(a).total_cmp(&spread(b)).then(b.cmp(&a))).unwrap_or(0);
    let middle = (order.len() / 2).next_multiple_of(leaf).min(order.len() - 1);
    let at = |position: usize| values[position * d + widest];
    order.select_nth_unstable_by(middle, |&a, &b| at(a).total_cmp(&at(b)).then(a.cmp(&b)));
    let (left, right) = order.split_at_mut(middle);
    rayon::join(|| divide(values, d, leaf, left), || divide(values, d, leaf, right));
}
