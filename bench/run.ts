import { readFileSync, writeFileSync } from 'node:fs';
import { renderSuite, replaceSection } from './support/results.ts';
import { IS_TRIAL } from './support/size.ts';
import { runSuite, type Suite } from './support/suite.ts';
import { lintManifests, lintScripts } from './lint.ts';
import { operatorDefaults, operatorJobs, operatorRaised, operatorStart } from './operator.ts';
import { queueBatches, queueEightWorkers, queueManyWorkers, queueOneWorker } from './queue.ts';
import { queueGrowth, queuePush, queueTakeover } from './queue-scale.ts';
import { runBinary } from './run-binary.ts';
import { runFlush } from './run-flush.ts';
import { runIdle, runStart } from './run-idle.ts';
import { runPredictions } from './run-predictions.ts';
import { runStall } from './run-stall.ts';
import { runSteps } from './run-steps.ts';
import { sealCommit, sealReceipts } from './seal-commit.ts';
import { sealMemory } from './seal-memory.ts';
import { sealResume } from './seal-resume.ts';
import { sealSave } from './seal-save.ts';
import { fetchShippedMinio, fetchShippedVersitygw, shipMinio, shipVersitygw } from './ship.ts';
import { startUp } from './start-up.ts';
import { verifyDeepCold, verifyDeepWarm } from './verify-deep.ts';
import { whatifAnswer, whatifGrowth, whatifPlacements } from './whatif.ts';
import { why } from './why.ts';
import { verifyLastGood, verifyMillionChunks, verifyQuick, verifyQuickDcp } from './verify-quick.ts';

/**
 * `npm run bench [-- NAME…]`: runs the suites, or those with one of the words in their name, and
 * updates RESULTS.md. A trial run with HOLDFAST_BENCH_BYTES or HOLDFAST_BENCH_ROUNDS does not
 * update it.
 */
const SUITES: readonly (() => Promise<Suite | string>)[] = [
  startUp,
  why,
  verifyQuick,
  verifyQuickDcp,
  verifyMillionChunks,
  verifyLastGood,
  verifyDeepWarm,
  verifyDeepCold,
  sealSave,
  sealCommit,
  sealReceipts,
  sealResume,
  sealMemory,
  shipMinio,
  shipVersitygw,
  fetchShippedMinio,
  fetchShippedVersitygw,
  lintManifests,
  lintScripts,
  whatifAnswer,
  whatifPlacements,
  whatifGrowth,
  runBinary,
  runFlush,
  runStall,
  runPredictions,
  runStart,
  runIdle,
  runSteps,
  operatorDefaults,
  operatorRaised,
  operatorJobs,
  operatorStart,
  queueOneWorker,
  queueEightWorkers,
  queueManyWorkers,
  queueBatches,
  queuePush,
  queueGrowth,
  queueTakeover,
];

const RESULTS = new URL('./RESULTS.md', import.meta.url);
const words = process.argv.slice(2);

for (const make of SUITES) {
  if (words.length > 0 && !words.some((word) => make.name.toLowerCase().includes(word.toLowerCase().replaceAll('-', '')))) continue;
  const suite = await make();
  if (typeof suite === 'string') {
    console.log(`${make.name}: skipped, ${suite}`);
    continue;
  }
  try {
    const result = await runSuite(suite, (text) => process.stderr.write(`\r\u001b[2K${text}`));
    process.stderr.write('\r\u001b[2K');
    const section = renderSuite(result, new Date().toISOString().slice(0, 10));
    console.log(section);
    if (!IS_TRIAL) writeFileSync(RESULTS, replaceSection(readFileSync(RESULTS, 'utf8'), suite.name, section));
  } finally {
    await suite.dispose?.();
  }
}
