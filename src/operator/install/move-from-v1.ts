import { RECORD_SELECTOR } from './job-definitions.ts';
import { type InstallOptions, NAME } from './options.ts';

/** A step of a move, in commands for a shell. */
export interface Step {
  readonly title: string;
  readonly commands: readonly string[];
}

/** The webhooks of v1. Without v1 they refuse every job, and every change that Kueue makes. */
const WEBHOOKS = 'validatingwebhookconfiguration/validator.training-operator.kubeflow.org';
const SAVED = 'training-operator-webhooks.yaml';
const V1 = 'kubectl --namespace=kubeflow';
const SERVER_SIDE = 'kubectl apply --server-side -f -';

/** How the jobs of the Training Operator v1 come to this operator. No step deletes a pod. */
export function stepsFromV1(options: InstallOptions): readonly Step[] {
  return [
    {
      title: 'Keep a copy of the webhooks of v1, for the way back.',
      commands: [`kubectl get --ignore-not-found ${WEBHOOKS} -o yaml > ${SAVED}`],
    },
    {
      title: 'Stop v1, so that no job has two controllers. Pods train on. Change the namespace if v1 runs in another one.',
      commands: [
        `${V1} scale deployment/training-operator --replicas=0`,
        `${V1} wait --for=delete pod --selector=control-plane=kubeflow-training-operator --timeout=2m`,
      ],
    },
    {
      title: 'Delete the webhooks of v1. They outlive it, and then refuse every new job and every change of a job.',
      commands: [`kubectl delete --ignore-not-found ${WEBHOOKS}`],
    },
    {
      title: 'Add the TrainingRun. PyTorchJobs and TFJobs stay as v1 defined them.',
      commands: [`holdfast operator install --crds | kubectl apply --server-side --selector=${RECORD_SELECTOR} -f -`],
    },
    {
      title: 'Start this operator. It adopts the pods that run.',
      commands: [
        `holdfast operator install ${installFlags(options)} | ${SERVER_SIDE}`,
        `kubectl --namespace=${options.namespace} rollout status deployment/${NAME} --timeout=5m`,
      ],
    },
    { title: 'Each job has a TrainingRun now.', commands: ['kubectl get trainingruns --all-namespaces'] },
  ];
}

/** The way back: v1 takes the same pods over. */
export function stepsBackToV1(options: InstallOptions): readonly Step[] {
  return [
    {
      title: 'Stop this operator.',
      commands: [`holdfast operator uninstall ${placeFlags(options)} | kubectl delete --ignore-not-found -f -`],
    },
    {
      title: 'Start v1, and then its webhooks, once it can answer them.',
      commands: [
        `${V1} scale deployment/training-operator --replicas=1`,
        `${V1} rollout status deployment/training-operator --timeout=5m`,
        `kubectl create -f ${SAVED}`,
      ],
    },
  ];
}

/** The steps as a script; the way back stands in comments. */
export function moveScript(options: InstallOptions): string {
  const there = stepsFromV1(options).flatMap(({ title, commands }, index) => [`# ${index + 1}. ${title}`, ...commands, '']);
  const back = stepsBackToV1(options).flatMap(({ title, commands }) => [`# ${title}`, ...commands.map((command) => `#   ${command}`)]);
  return ['set -e', '', ...there, '# The way back, at any time:', ...back].join('\n');
}

function installFlags(options: InstallOptions): string {
  return [`--image=${options.image}`, placeFlags(options)].filter((text) => text !== '').join(' ');
}

function placeFlags({ namespace, watchNamespace }: Pick<InstallOptions, 'namespace' | 'watchNamespace'>): string {
  return `--namespace=${namespace}${watchNamespace === null ? '' : ` --watch-namespace=${watchNamespace}`}`;
}
