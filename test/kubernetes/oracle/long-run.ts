import { parseArgs } from 'node:util';
import { EVICT_CHECK } from './evict-check.ts';
import { MERGE_CHECK } from './merge-check.ts';
import { whyNoOracle } from './oracle.ts';
import { runCheck } from './run-checks.ts';
import { SCHEDULE_CHECK } from './schedule-check.ts';

const USAGE = `npm run oracles:long                              asks Kubernetes' own code about 10,000 random cases of each kind
npm run oracles:long -- --count=500 --seed=7      about so many, from this seed on
`;
const MOST_SHOWN = 20;
const BATCH = 1000;

async function main(args: readonly string[]): Promise<number> {
  const wish = wishOf(args);
  if (wish === null) {
    process.stderr.write(USAGE);
    return 64;
  }
  const reason = whyNoOracle();
  if (reason !== null) {
    process.stderr.write(`error: ${reason}\n`);
    return 1;
  }
  let isFine = true;
  for (const check of [SCHEDULE_CHECK, EVICT_CHECK, MERGE_CHECK]) {
    const started = performance.now();
    const found: string[] = [];
    let questions = 0;
    for (let done = 0; done < wish.count; done += BATCH) {
      const run = await runCheck(check, { seed: wish.seed + done, count: Math.min(BATCH, wish.count - done) });
      found.push(...run.disagreements);
      questions += run.questions;
    }
    const seconds = ((performance.now() - started) / 1000).toFixed(0);
    process.stdout.write(`${check.name}: ${wish.count} cases, ${questions} questions, ${found.length} disagreements, ${seconds} s\n`);
    for (const each of found.slice(0, MOST_SHOWN)) process.stdout.write(`  ${each}\n`);
    isFine &&= found.length === 0;
  }
  return isFine ? 0 : 1;
}

function wishOf(args: readonly string[]): { readonly count: number; readonly seed: number } | null {
  try {
    const { values } = parseArgs({
      args: [...args],
      options: { count: { type: 'string', default: '10000' }, seed: { type: 'string', default: '1' } },
    });
    const [count, seed] = [Number(values.count), Number(values.seed)];
    return Number.isInteger(count) && count > 0 && Number.isInteger(seed) && seed >= 0 ? { count, seed } : null;
  } catch {
    return null;
  }
}

process.exitCode = await main(process.argv.slice(2));
