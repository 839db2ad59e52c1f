import { EXIT, type ExitCode } from '../../../core/exit-codes.ts';
import { defineCommand } from '../../frame/command.ts';
import { PLACE_OPTIONS } from './install-options.ts';

/** The command `holdfast operator uninstall`. */
export const uninstall = defineCommand({
  description:
    'Prints the objects to delete so that the operator is gone, and changes nothing. Jobs, pods and TrainingRuns stay: pods train on, and namespaces and custom resources are not in the list.',
  operand: null,
  options: PLACE_OPTIONS,
  examples: [
    { line: 'operator uninstall | kubectl delete --ignore-not-found -f -', description: 'Delete what install made for all namespaces' },
    {
      line: 'operator uninstall --namespace=trial --watch-namespace=trial | kubectl delete -f -',
      description: 'Delete what install made with the same options',
    },
  ],

  async run({ values, output }): Promise<ExitCode> {
    const { printUninstallation } = await import('./print-installation.ts');
    printUninstallation(values, output);
    return EXIT.ok;
  },
});
