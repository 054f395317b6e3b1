//! scratch
use evmachine::*;
struct R(u64);
impl R {
    fn next(&mut self) -> f64 { self.0 = self.0.wrapping_add(0x9e3779b97f4a7c15); let mut z=self.0; z=(z^(z>>30)).wrapping_mul(0xbf58476d1ce4e5b9); z=(z^(z>>27)).wrapping_mul(0x94d049bb133111eb); ((z^(z>>31))>>11) as f64/(1u64<<53) as f64 }
    fn normal(&mut self) -> f32 { let (a,b)=(self.next().max(1e-300),self.next()); ((-2.0*a.ln()).sqrt()*(std::f64::consts::TAU*b).cos()) as f32 }
}
fn main() {
    let cells: Vec<(&str, Vec<usize>, usize, f32, Metric, u64)> = vec![
        ("5000+50 d8", vec![5000,50], 8, 4.0, Metric::Euclidean, 12),
        ("4900+50 d8", vec![4900,50], 8, 4.0, Metric::Euclidean, 12),
        ("1000+5 d16", vec![1000,5], 16, 2.0, Metric::Euclidean, 20),
        ("3x500 d4", vec![500;3], 4, 4.0, Metric::Euclidean, 20),
        ("10x30 d16", vec![30;10], 16, 1.0, Metric::Euclidean, 40),
        ("10 geom d16", vec![1000,599,359,215,129,77,46,27,16,10], 16, 1.0, Metric::Euclidean, 20),
        ("2x150 d2", vec![150;2], 2, 3.0, Metric::Euclidean, 40),
        ("60x5 d16", vec![5;60], 16, 2.0, Metric::Euclidean, 40),
        ("400x5 d128", vec![5;400], 128, 1.0, Metric::Cosine, 6),
        ("200x10 d128 cos", vec![10;200], 128, 1.0, Metric::Cosine, 8),
        ("200x100 d128 cos", vec![100;200], 128, 1.0, Metric::Cosine, 3),
        ("f 900+5 d16", vec![900,5], 16, 2.0, Metric::Euclidean, 20),
        ("f 900+50 d8", vec![900,50], 8, 4.0, Metric::Euclidean, 20),
        ("f 3x300 d4", vec![300;3], 4, 4.0, Metric::Euclidean, 20),
        ("f 50x20 d64", vec![20;50], 64, 1.0, Metric::Cosine, 20),
        ("f 25x40 d64", vec![40;25], 64, 0.7, Metric::Cosine, 20),
        ("f 200x5 d128", vec![5;200], 128, 1.0, Metric::Cosine, 10),
        ("f 100x10 d128", vec![10;100], 128, 1.0, Metric::Cosine, 10),
        ("f geom d16", vec![300,200,130,90,60,40,26,17,10,5], 16, 1.0, Metric::Euclidean, 20),
        ("c 900+5 d16", vec![900,5], 16, 2.0, Metric::Euclidean, 100),
        ("c 400+3 d4", vec![400,3], 4, 2.0, Metric::Euclidean, 100),
        ("c 1000+5 d16", vec![1000,5], 16, 2.0, Metric::Euclidean, 100),
        ("c 2000+10 d8", vec![2000,10], 8, 2.0, Metric::Euclidean, 40),
        ("c 200+200+5 d8", vec![200,200,5], 8, 2.0, Metric::Euclidean, 100),
        ("L 60000", vec![300;200], 128, 1.0, Metric::Cosine, 1),
        ("L 100000", vec![100;1000], 64, 1.0, Metric::Cosine, 1),
        ("L 15000", vec![100;150], 128, 1.0, Metric::Cosine, 2),
        ("x100x20 d64", vec![20;100], 64, 1.0, Metric::Cosine, 8),
        ("x60x40 d64", vec![40;60], 64, 0.7, Metric::Cosine, 8),
        ("x20x15 d8", vec![15;20], 8, 2.0, Metric::Euclidean, 40),
        ("x40x100 d32", vec![100;40], 32, 0.7, Metric::Euclidean, 6),
        ("1x500 d4", vec![500], 4, 3.0, Metric::Euclidean, 20),
    ];
    let only = std::env::args().nth(1);
    for (name, sizes, d, spread, metric, draws) in cells {
        if let Some(o) = &only { if !name.starts_with(o.as_str()) { continue; } }
        for (tag, params) in [("default", Params { metric: metric.clone(), ..Params::default() }), ("robust", Params::robust_for(metric.clone()))] {
            let mut shares = vec![]; let clock = std::time::Instant::now(); let mut fit_time=0.0; let mut m=0;
            for seed in 0..draws {
                let mut r = R(seed*7919+1);
                let c = sizes.len();
                let means: Vec<f32> = (0..c*d).map(|_| spread*r.normal()).collect();
                let mut x = vec![]; let mut y = vec![];
                for (k,&s) in sizes.iter().enumerate() { for _ in 0..s { for j in 0..d { x.push(means[k*d+j]+r.normal()); } y.push(k.to_string()); } }
                let total: usize = sizes.iter().sum();
                let mut q = vec![];
                for _ in 0..4000 { let mut t=(r.next()*total as f64) as usize; let mut k=0; while t>=sizes[k] { t-=sizes[k]; k+=1; } for j in 0..d { q.push(means[k*d+j]+r.normal()); } }
                let t=std::time::Instant::now();
                let (evm, _) = Evm::fit(&params, &Features::new(x,d).unwrap(), &Labels::new(y).unwrap()).unwrap();
                fit_time+=t.elapsed().as_secs_f64();
                m = evm.promise().effective_rows;
                let dec = evm.decide(&Features::new(q,d).unwrap()).unwrap();
                shares.push(dec.iter().filter(|d| d.class().is_none()).count() as f64/4000.0);
            }
            let mean = shares.iter().sum::<f64>()/draws as f64;
            let sd = (0.0475*(1.0/m.max(1) as f64+1.0/4000.0)).sqrt();
            let z: Vec<f64> = shares.iter().map(|s| (s-0.05)/sd).collect();
            let zmax = z.iter().cloned().fold(f64::MIN,f64::max); let zmin=z.iter().cloned().fold(f64::MAX,f64::min);
            let mut sorted = shares.clone(); sorted.sort_by(f64::total_cmp); let top: Vec<f64> = sorted.iter().rev().take(4).copied().collect(); println!("{top:.3?} {name:18} {tag:8} m {m:5} mean {mean:.4} (z of mean {:+.1}) worst {:.4} zmax {zmax:.1} zmin {zmin:.1}  {:.2} s a fit, {:.1} s", (mean-0.05)/sd*(draws as f64).sqrt(), shares.iter().cloned().fold(0.0,f64::max), fit_time/draws as f64, clock.elapsed().as_secs_f64());
        }
    }
}
