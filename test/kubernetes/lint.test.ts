import { globSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { adopt } from '../../src/lint/adopt/adopt.ts';
import { fixAll } from '../../src/lint/fix.ts';
import { ROOT } from '../support/run-process.ts';
import { type Cluster, startCluster } from './cluster/cluster.ts';
import { whyNoCluster } from './cluster/facility.ts';
import { definePyTorchJobs } from './scenario/pytorchjob-kind.ts';
import { type manifestsIn, tryManifest, tryPods } from './scenario/tried-manifests.ts';

const reason = whyNoCluster();
const KINDS = new Set(['Job', 'CronJob', 'PyTorchJob']);
const HAS_PODS = /^kind: (?:Job|CronJob|PyTorchJob)$/m;
const TROUBLED = globSync(join(ROOT, 'test/fixtures/lint/{articles,troubled}/*.yaml')).sort();

describe.skipIf(reason !== null)(`what lint and adopt write${reason === null ? '' : ` (skipped: ${reason})`}`, () => {
  let cluster: Cluster;
  beforeAll(async () => {
    cluster = await startCluster({ nodes: [{}] });
    await definePyTorchJobs(cluster);
  });
  afterAll(async () => {
    await cluster?.[Symbol.asyncDispose]();
  });

  it.each(TROUBLED.map((path) => [basename(path), path]))(
    '%s is accepted by the API server after a fix, and after adopt',
    async (_, path) => {
      const text = readFileSync(path, 'utf8');
      const fixed = fixAll([{ path, text }], { codes: null, saveMs: null }, () => true)[0]?.text ?? text;
      const adopted = adopt(text, { dir: null, claim: null, graceSeconds: null, ship: null });
      const tried = (await tryAll(cluster, fixed)) + (await tryAll(cluster, adopted.text));
      expect(tried).toBeGreaterThan(HAS_PODS.test(text) ? 0 : -1);
    },
  );
});

type Manifest = ReturnType<typeof manifestsIn>[number];

/** Asks the server to check each object that makes pods. An unknown field is an error. */
async function tryAll(cluster: Cluster, text: string): Promise<number> {
  let tried = 0;
  for (const document of parseAllDocuments(text, { merge: true })) {
    const manifest = tryable(document.toJS());
    if (manifest === null || !KINDS.has(manifest.kind)) continue;
    await tryManifest(cluster, manifest);
    tried += await tryPods(cluster, manifest);
  }
  return tried;
}

/**
 * Fills in what the corpus omits, such as images and names; removes namespaces and classes that the
 * cluster does not have.
 */
function tryable(manifest: unknown): Manifest | null {
  return JSON.parse(
    JSON.stringify(manifest, (key: string, value: unknown) => {
      if (key === 'namespace' || key === 'priorityClassName') return undefined;
      return key === 'containers' && Array.isArray(value)
        ? value.map((one: object) => ({ image: 'registry.example/train:1', ...one }))
        : value;
    }) ?? 'null',
  ) as Manifest | null;
}
