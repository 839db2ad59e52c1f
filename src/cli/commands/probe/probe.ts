import { type Bytes, parseBytes } from '../../../core/bytes.ts';
import { HoldfastError } from '../../../core/errors.ts';
import { EXIT, type ExitCode } from '../../../core/exit-codes.ts';
import { type Parsed, parsed, refused } from '../../../core/parsed.ts';
import { excerpt, printable } from '../../../core/printable.ts';
import { defineCommand } from '../../frame/command.ts';
import { someText } from '../../frame/option-values.ts';
import { REMOTE_OPTIONS } from '../../remote/remote-options.ts';

const { endpoint, region, profile, 'path-style': pathStyle } = REMOTE_OPTIONS;
/** The options to reach the store of a bucket. */
const STORE_OPTIONS = { endpoint, region, profile, 'path-style': pathStyle } as const;

/** The command `holdfast probe`. */
export const probe = defineCommand({
  description:
    'Reports on the storage under a path: its file system, and whether its data survives a power cut and the pod. It also reports how Holdfast commits a save there, how much room is left before the kubelet evicts pods, and how fast bytes become durable. Of a bucket (s3://…, gs://…) it reports the region beside the region of the nodes, the permissions, the rules that delete objects, and the bandwidth. It removes everything that it wrote for its tests.',
  operand: {
    name: 'PATH',
    description: 'The folder for the checkpoints, or a bucket: s3://BUCKET/PREFIX, gs://BUCKET/PREFIX',
    count: 'one',
    complete: 'paths',
  },
  options: {
    quick: { kind: 'flag', description: 'Skip the measurement; probe still tests what a save relies on, with a few empty files' },
    bytes: {
      kind: 'value',
      value: 'SIZE',
      parse: parseRoundSize,
      default: '64MiB',
      description: 'How much to write and sync in each round; never more than 5 % of the free room',
    },
    rounds: { kind: 'value', value: 'COUNT', parse: parseRounds, default: '8', description: 'How many rounds to measure' },
    'eviction-line': {
      kind: 'value',
      value: 'LINE',
      parse: (text: string): Parsed<string> => parsed(text),
      default: 'auto',
      description:
        'Free space that counts as full because the kubelet evicts pods there: a share (10%), a size (8GiB), none, or auto. auto takes the kubelet’s defaults on the disk of a node, and none elsewhere',
    },
    'node-region': {
      kind: 'value',
      value: 'REGION',
      parse: someText('the region'),
      description: 'Of a bucket: where the nodes are; by default what the metadata service of this machine says, or AWS_REGION',
    },
    ...STORE_OPTIONS,
  },
  examples: [
    { line: 'probe /checkpoints', description: 'Is this a good place for checkpoints, and how fast is it?' },
    { line: 'probe s3://bucket/runs --node-region=eu-west-1', description: 'Of a bucket: region, permissions, speed, rules that delete' },
    { line: 'probe --quick .', description: 'The same without measuring' },
    { line: 'probe --eviction-line=15% --json /data', description: 'Print JSON, for nodes that evict at 15 %' },
    { line: 'probe --bytes=1GiB --rounds=20 /lustre/run', description: 'Measure longer, on storage that others use too' },
  ],

  async run({ values, operands: [path = ''], output, clock, env, signal }): Promise<ExitCode> {
    if (/^(s3|gs):\/\//.test(path)) {
      const { probeAddress } = await import('./probe-address.ts');
      return probeAddress(path, values, { output, clock, env, signal });
    }
    const { parseEvictionLine } = await import('../../../volumes/eviction-line.ts');
    const line = parseEvictionLine(values['eviction-line']);
    if (!line.ok) throw new HoldfastError('USAGE', { message: `option --eviction-line: ${line.reason}` });
    const { probeStorage } = await import('../../../volumes/probe.ts');
    const report = await probeStorage(path, {
      env,
      clock,
      signal,
      evictionLine: line.value,
      measure: values.quick ? null : { bytesPerRound: values.bytes, rounds: values.rounds },
      onProgress: (progress) => output.progress.update(progress),
    });
    if (output.json) output.printJson(report);
    else if (output.quiet) output.print(`${report.commit.protocol}  ${printable(report.folder)}`);
    else {
      const { renderProbe } = await import('./render-probe.ts');
      output.print(...renderProbe(report, output));
    }
    return report.commit.protocol === 'rename' ? EXIT.ok : EXIT.no;
  },
});

function parseRoundSize(text: string): Parsed<Bytes> {
  const size = parseBytes(text);
  return size.ok && size.value < 2 ** 20 ? refused(`"${excerpt(text, 40)}" is too small to measure: give at least 1MiB`) : size;
}

function parseRounds(text: string): Parsed<number> {
  const count = /^\d{1,4}$/.test(text) ? Number(text) : 0;
  return count >= 1 && count <= 1000 ? parsed(count) : refused(`"${excerpt(text, 40)}" is not a number of rounds: 1 to 1000`);
}
