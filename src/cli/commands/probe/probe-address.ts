import { formatBytes } from '../../../core/bytes.ts';
import { HoldfastError } from '../../../core/errors.ts';
import { EXIT, type ExitCode } from '../../../core/exit-codes.ts';
import { printable } from '../../../core/printable.ts';
import { createRng, randomSeed } from '../../../core/rng.ts';
import { openStore } from '../../../remote/backends/open-store.ts';
import { type BucketReport, probeBucket } from '../../../remote/probe/probe-bucket.ts';
import type { Invocation } from '../../frame/command.ts';
import type { Output } from '../../output/output.ts';
import { renderList } from '../../output/table.ts';
import { findNodeRegion } from '../../../remote/probe/node-region.ts';
import { readLocation } from '../../remote/open-remote.ts';

/** The options of `probe` for a bucket. */
interface AddressValues {
  readonly quick: boolean;
  readonly bytes: number;
  readonly 'node-region': string | null;
  readonly endpoint: string | null;
  readonly region: string | null;
  readonly profile: string | null;
  readonly 'path-style': boolean;
}

type World = Pick<Invocation, 'output' | 'clock' | 'env' | 'signal'>;

/** The size of one object that is sent in one piece; a larger one measures nothing more. */
const MOST_BYTES = 16 * 1024 * 1024;

/**
 * Probes a bucket as a place for copies. The exit code is 0 when every operation is allowed and no
 * rule of the bucket deletes copies.
 */
export async function probeAddress(url: string, values: AddressValues, { output, clock, env, signal }: World): Promise<ExitCode> {
  const location = readLocation(url);
  const rng = createRng(randomSeed());
  const { endpoint, region, profile } = values;
  const memory = { get: () => null, set: () => {}, delete: () => {} };
  const store = openStore(location, { env, clock, rng, signal, memory, endpoint, region, profile, isPathStyle: values['path-style'] });
  try {
    if (store.settings === null || location.kind === 'file') {
      throw new HoldfastError('USAGE', { message: `${url} has no bucket to probe`, hint: 'A folder is probed by its path.' });
    }
    const report = await probeBucket(store, {
      clock,
      settings: store.settings,
      prefix: location.prefix,
      nodeRegion: values['node-region'] ?? (await findNodeRegion({ env, clock, rng, signal })) ?? env['AWS_REGION'] ?? null,
      bytes: values.quick ? null : Math.min(values.bytes, MOST_BYTES),
      name: `holdfast-probe-${rng.integer(0, 2 ** 31).toString(36)}-${clock.now().toString(36)}`,
    });
    if (output.json) output.printJson(report);
    else output.print(...renderBucket(report, output));
    return isGood(report) ? EXIT.ok : EXIT.no;
  } finally {
    await store[Symbol.asyncDispose]();
  }
}

/** Holdfast never removes copies, so it does not need that permission. */
function isGood({ permissions, threats }: BucketReport): boolean {
  return permissions.every(({ name, isAllowed }) => isAllowed || name === 'remove') && (threats ?? []).length === 0;
}

function renderBucket(report: BucketReport, { style, columns }: Output): readonly string[] {
  const { url, permissions, bandwidth } = report;
  const verdict = isGood(report) ? style.green('copies of checkpoints can be kept here.') : style.red('not a safe place for copies.');
  const allowed = permissions.map(({ name, isAllowed, problem }) =>
    isAllowed ? name : style.yellow(`${name}: ${printable(problem ?? 'refused')}`),
  );
  const speed =
    bandwidth === null
      ? 'not measured'
      : `${formatBytes(bandwidth.writeBytesPerSecond)}/s written, ${formatBytes(bandwidth.readBytesPerSecond)}/s read (one object of ${formatBytes(bandwidth.bytes)})`;
  const items: (readonly [string, string])[] = [
    [style.dim('region'), regionText(report)],
    [style.dim('allowed'), allowed.join(' · ')],
    [style.dim('deletes'), threatText(report)],
    [style.dim('speed'), speed],
  ];
  return [`${style.bold(printable(url))}: ${verdict}`, '', ...renderList(items, columns)];
}

function regionText({ region, nodeRegion, isNear }: BucketReport): string {
  const bucket = region === null ? 'not told by the store' : printable(region);
  if (nodeRegion === null) return `${bucket}; where the nodes are is not known (--node-region)`;
  if (isNear === null) return `${bucket}; the nodes are in ${printable(nodeRegion)}`;
  return isNear
    ? `${bucket}, where the nodes are`
    : `${bucket}, but the nodes are in ${printable(nodeRegion)}: slower, and every byte between regions costs money`;
}

function threatText({ threats }: BucketReport): string {
  if (threats === null) return 'not known: the rules of the bucket may not be read';
  if (threats.length === 0) return 'no rule of the bucket deletes what lies here';
  return threats
    .map(
      ({ id, prefix, afterDays }) =>
        `rule ${printable(id ?? '')} deletes ${prefix === '' ? 'everything' : printable(prefix)} ${afterDays === null ? 'on a condition' : `after ${afterDays} days`}`,
    )
    .join('; ');
}
