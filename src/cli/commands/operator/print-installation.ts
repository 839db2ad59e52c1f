import { HoldfastError } from '../../../core/errors.ts';
import type { NewObject } from '../../../kube/api/api-object.ts';
import { alertObjects } from '../../../operator/install/alerts.ts';
import { customResources } from '../../../operator/install/job-definitions.ts';
import { manifestText } from '../../../operator/install/manifest-text.ts';
import { moveScript, stepsBackToV1, stepsFromV1 } from '../../../operator/install/move-from-v1.ts';
import { installObjects, uninstallObjects } from '../../../operator/install/objects.ts';
import type { InstallOptions } from '../../../operator/install/options.ts';
import { statusPolicy } from '../../../operator/install/status-policy.ts';
import type { Output } from '../../output/output.ts';

interface PlaceValues {
  readonly namespace: string;
  readonly 'watch-namespace': string | null;
}

interface InstallValues extends PlaceValues {
  readonly image: string | null;
  readonly crds: boolean;
  readonly alerts: boolean;
  readonly 'status-policy': boolean;
  readonly 'replace-training-operator': boolean;
}

/** What `install` prints instead of the operator, by the option that asks for it. */
const PARTS: Readonly<Record<Part, (values: InstallValues, output: Output) => void>> = {
  crds: (_, output) => print(customResources(), output),
  alerts: ({ namespace }, output) => print(alertObjects(namespace), output),
  'status-policy': ({ namespace }, output) => print([statusPolicy(namespace)], output),
  'replace-training-operator': (values, output) => printMove(optionsOf(values), output),
};

type Part = 'crds' | 'alerts' | 'status-policy' | 'replace-training-operator';

/** Prints the manifests that the options ask for. */
export function printInstallation(values: InstallValues, output: Output): void {
  const [part, other] = (Object.keys(PARTS) as Part[]).filter((name) => values[name]);
  if (other !== undefined) {
    throw new HoldfastError('USAGE', { message: `--${part} and --${other} each print something else`, hint: 'Print one after the other.' });
  }
  if (part === undefined) print(installObjects(optionsOf(values)), output);
  else PARTS[part](values, output);
}

/** Prints what to delete. */
export function printUninstallation(values: PlaceValues, output: Output): void {
  print(uninstallObjects({ namespace: values.namespace, watchNamespace: values['watch-namespace'] }), output);
}

function optionsOf({ image, namespace, 'watch-namespace': watchNamespace }: InstallValues): InstallOptions {
  if (image === null) {
    throw new HoldfastError('OPERATOR_IMAGE_MISSING', {
      message: 'no image is given for the operator, and none is published yet',
      hint: 'Make one with `npm run build:image`, push it to your registry, and name it: --image=registry.example.com/holdfast:0.1.0',
    });
  }
  return { image, namespace, watchNamespace };
}

function printMove(options: InstallOptions, output: Output): void {
  if (output.json) output.printJson({ schema: 'holdfast.operator-move/1', there: stepsFromV1(options), back: stepsBackToV1(options) });
  else output.print(moveScript(options));
}

/** YAML, or with --json a List; kubectl reads both. */
function print(objects: readonly NewObject[], output: Output): void {
  if (output.json) output.printJson({ apiVersion: 'v1', kind: 'List', items: objects });
  else output.print(manifestText(objects).trimEnd());
}
