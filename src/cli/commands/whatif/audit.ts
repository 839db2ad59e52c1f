import { EXIT, type ExitCode } from '../../../core/exit-codes.ts';
import { defineCommand } from '../../frame/command.ts';
import { WORLD_OPTIONS } from './world-options.ts';

/** The command `holdfast whatif audit`. */
export const audit = defineCommand({
  description:
    'Lists the standing risks of a cluster: who may evict whom and what that would cost, gangs that one eviction stops, pods that wait behind less important ones, classes and budgets that do nothing, and accelerators in pieces. Each with its evidence and the smallest fix. Changes nothing.',
  operand: null,
  options: {
    'fail-on': {
      kind: 'choice',
      choices: ['error', 'warning', 'info', 'never'],
      default: 'warning',
      description: 'The least severity that makes exit code 1',
    },
    ...WORLD_OPTIONS,
  },
  examples: [
    { line: 'whatif audit', description: 'The risks of the current cluster' },
    { line: 'whatif audit -s cluster.json --fail-on=error', description: 'Of a snapshot; exit with 1 only for errors' },
  ],

  async run({ values, output, clock, signal }): Promise<ExitCode> {
    const { readWorld } = await import('./read-world.ts');
    const { auditCluster } = await import('../../../whatif/audit/audit.ts');
    const { isAtLeast, showAudit } = await import('./show-audit.ts');
    const read = await readWorld({ ...values, clock, signal });
    const risks = auditCluster(read.world);
    showAudit({ risks, read }, output);
    const failOn = values['fail-on'];
    if (failOn !== 'never' && risks.some((risk) => isAtLeast(risk, failOn))) return EXIT.no;
    return read.problems.length > 0 ? EXIT.partly : EXIT.ok;
  },
});
