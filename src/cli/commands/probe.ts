import { type Bytes, parseBytes } from '../../core/bytes.ts';
import { HoldfastError } from '../../core/errors.ts';
import { EXIT, type ExitCode } from '../../core/exit-codes.ts';
import { type Parsed, parsed, refused } from '../../core/parsed.ts';
import { excerpt, printable } from '../../core/printable.ts';
import { defineCommand } from '../command.ts';

export const probe = defineCommand({
  description:
    'Tells what lies under a path: which file system, whether it survives a power cut and the pod, how a save is committed there, how much room there is down to the line at which the kubelet evicts pods, and how fast bytes become durable. What it writes in order to try and to measure, it removes again.',
  operand: { name: 'PATH', description: 'The folder in which checkpoints are or will be', count: 'one', complete: 'paths' },
  options: {
    quick: { kind: 'flag', description: 'Do not measure; what a save relies on is still tried, with a few empty files' },
    bytes: {
      kind: 'value',
      value: 'SIZE',
      parse: parseRoundSize,
      default: '64MiB',
      description: 'How much to write and sync in a round; never more than 5 % of the room there is',
    },
    rounds: { kind: 'value', value: 'COUNT', parse: parseRounds, default: '8', description: 'How often to do so' },
    'eviction-line': {
      kind: 'value',
      value: 'LINE',
      parse: (text: string): Parsed<string> => parsed(text),
      default: 'auto',
      description:
        'Free space that counts as full, because the kubelet evicts there: a share (10%), a size (8GiB), none, or the kubelet’s defaults on the disk of a node and none elsewhere (auto)',
    },
  },
  examples: [
    { line: 'probe /checkpoints', description: 'Is this a good place for checkpoints, and how fast is it?' },
    { line: 'probe --quick .', description: 'The same without measuring' },
    { line: 'probe --eviction-line=15% --json /data', description: 'For a program, on nodes that evict at 15 %' },
    { line: 'probe --bytes=1GiB --rounds=20 /lustre/run', description: 'A longer look at storage that others use too' },
  ],

  async run({ values, operands: [path = ''], output, clock, env, signal }): Promise<ExitCode> {
    const { parseEvictionLine } = await import('../../checkpoint/storage/eviction-line.ts');
    const line = parseEvictionLine(values['eviction-line']);
    if (!line.ok) throw new HoldfastError('USAGE', { message: `option --eviction-line: ${line.reason}` });
    const { probeStorage } = await import('../../checkpoint/storage/probe.ts');
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
      const { renderProbe } = await import('../probe/render-probe.ts');
      output.print(...renderProbe(report, output));
    }
    return report.commit.protocol === 'rename' ? EXIT.ok : EXIT.no;
  },
});

function parseRoundSize(text: string): Parsed<Bytes> {
  const size = parseBytes(text);
  return size.ok && size.value < 2 ** 20 ? refused(`"${excerpt(text, 40)}" is too little to measure: at least 1MiB`) : size;
}

function parseRounds(text: string): Parsed<number> {
  const count = /^\d{1,4}$/.test(text) ? Number(text) : 0;
  return count >= 1 && count <= 1000 ? parsed(count) : refused(`"${excerpt(text, 40)}" is not a number of rounds: 1 to 1000`);
}
