import { calibrate, knownCalibrations, measureBands, measureCalibration, quantile } from '../src/embedding/calibration.ts';
import { createLocalEmbedder } from '../src/embedding/local.ts';
import { probes } from '../src/embedding/probes.ts';

// Usage: tsx bench/calibration.ts <folder of the model>
// Measures the calibration on the probes with an even index, and shows how the bands of the others read under the shipped one.
const [folder] = process.argv.slice(2);
if (!folder) throw new Error('Usage: tsx bench/calibration.ts <folder of the model>');
const embedder = await createLocalEmbedder({
  modelPath: `${folder}/e5-small-v2-q.onnx`,
  tokenizerPath: `${folder}/e5-small-v2-q-tokenizer.json`,
});
const measured = await measureCalibration(
  embedder,
  probes.filter((_, index) => index % 2 === 0),
);
const bands = await measureBands(
  embedder,
  probes.filter((_, index) => index % 2 === 1),
);
await embedder.close();

console.table(measured.knots.map(([cosine, relevance]) => ({ cosine: cosine.toFixed(3), relevance })));
const shipped = knownCalibrations[embedder.model] ?? measured;
console.table(
  Object.fromEntries(
    Object.entries(bands).map(([band, cosines]: [string, number[]]) => {
      const show = (share: number) => {
        const cosine = quantile(cosines, share);
        return `${cosine.toFixed(3)} → ${calibrate(cosine, shipped).toFixed(2)}`;
      };
      return [band, { pairs: cosines.length, '10 %': show(0.1), '25 %': show(0.25), median: show(0.5), '75 %': show(0.75), '90 %': show(0.9) }];
    }),
  ),
);
