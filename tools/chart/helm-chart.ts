import { stringify } from 'yaml';
import type { NewObject } from '../../src/kube/api/api-object.ts';
import { alertObjects } from '../../src/operator/install/alerts.ts';
import { customResources } from '../../src/operator/install/job-definitions.ts';
import { manifestText } from '../../src/operator/install/manifest-text.ts';
import { objectsWithin } from '../../src/operator/install/objects.ts';
import { mergeVariants } from './merge-variants.ts';

const FOLDER = 'charts/holdfast';
const NOTE = '# `npm run docs` writes this file from src/operator/install.\n';

/** What stands in the manifests where Helm puts a value. */
const [NAMESPACE, WATCHED, IMAGE] = ['chart-namespace', 'chart-watch-namespace', 'chart-image'];
const NO_IMAGE = 'image: no image of the operator is published yet; npm run build:image makes one';
const EXPRESSIONS: Readonly<Record<string, string>> = {
  [NAMESPACE]: '.Release.Namespace',
  [WATCHED]: '.Values.watchNamespace',
  [IMAGE]: `required ${JSON.stringify(NO_IMAGE)} .Values.image`,
};

/** The files of the Helm chart by path: what `operator install` prints, with Helm’s expressions. */
export function chartFiles(version: string): ReadonlyMap<string, string> {
  const variant = (watchNamespace: string | null): readonly string[] =>
    templateLines(objectsWithin({ namespace: NAMESPACE, image: IMAGE, watchNamespace }));
  const operator = mergeVariants('.Values.watchNamespace', variant(WATCHED), variant(null));
  // The note stands inside, because Helm takes a file with a comment for a manifest.
  const alerts = ['{{- if .Values.alerts }}', NOTE.trimEnd(), ...templateLines(alertObjects(NAMESPACE)), '{{- end }}'];
  return new Map([
    [`${FOLDER}/Chart.yaml`, NOTE + stringify(chart(version))],
    [`${FOLDER}/values.yaml`, NOTE + VALUES],
    [`${FOLDER}/templates/operator.yaml`, NOTE + `${operator.join('\n')}\n`],
    [`${FOLDER}/templates/alerts.yaml`, `${alerts.join('\n')}\n`],
    ...customResources().map((each): [string, string] => [`${FOLDER}/crds/${each.metadata.name}.yaml`, NOTE + manifestText([each])]),
  ]);
}

function chart(version: string): Readonly<Record<string, unknown>> {
  return {
    apiVersion: 'v2',
    name: 'holdfast',
    description: 'Runs PyTorchJobs and TFJobs as gangs that restart from the last good step',
    type: 'application',
    version,
    appVersion: version,
    kubeVersion: '>=1.30.0-0',
  };
}

const VALUES = `
# The image of the operator: REGISTRY/NAME:TAG. It has no default until one is published.
image: ""
# Run the jobs of this namespace alone; empty: those of all namespaces.
watchNamespace: ""
# Add alerts, for clusters with the operator of Prometheus.
alerts: false
`;

/** The lines of a template: the manifests, with Helm's expressions in the places of the values. */
function templateLines(objects: readonly NewObject[]): readonly string[] {
  let text = manifestText(objects).trimEnd().replaceAll('{{', '{{ "{{" }}');
  for (const [place, expression] of Object.entries(EXPRESSIONS)) {
    // A whole value is quoted: a namespace may be a number.
    text = text.replaceAll(new RegExp(`: ${place}$`, 'gm'), `: {{ ${expression} | quote }}`).replaceAll(place, `{{ ${expression} }}`);
  }
  return text.split('\n');
}
