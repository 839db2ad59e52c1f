import { type Document, parse } from 'yaml';
import { POD_FAILURE_POLICY } from '../../domain/exit/exit-contract.ts';
import { number, get } from '../manifest/yaml-node.ts';
import { nameOf } from '../manifest/workload-names.ts';
import type { Workload } from '../manifest/workload.ts';
import { BACKOFF_LIMIT } from './repair-command.ts';

type Path = readonly (string | number)[];
const A_WEEK = 604_800;

/** The Job around the pods: its policy, its limits, and that of a CronJob its schedule. */
export function superviseJob(document: Document, workload: Workload, podPath: Path): readonly string[] {
  const notes: string[] = [];
  const job = podPath.slice(0, -2);
  const isPerIndex = document.hasIn([...job, 'backoffLimitPerIndex']) || isSweep(workload);
  if (document.hasIn([...job, 'podFailurePolicy']))
    notes.push(`${nameOf(workload)}: its podFailurePolicy is replaced by the one that fits the exit codes of holdfast run.`);
  const { podFailurePolicy } = parse(POD_FAILURE_POLICY) as { podFailurePolicy: { rules: { action: string }[] } };
  const rules = podFailurePolicy.rules.map((rule) => (isPerIndex && rule.action === 'FailJob' ? { ...rule, action: 'FailIndex' } : rule));
  const entries: Record<string, unknown> = { podFailurePolicy: { rules } };
  if (isPerIndex) entries['backoffLimitPerIndex'] = document.getIn([...job, 'backoffLimitPerIndex']) ?? 3;
  else if (!document.hasIn([...job, 'backoffLimit'])) entries['backoffLimit'] = BACKOFF_LIMIT;
  const deadline = number(get(workload.job, 'activeDeadlineSeconds'));
  if (deadline !== null && deadline < A_WEEK) {
    document.deleteIn([...job, 'activeDeadlineSeconds']);
    notes.push(`${nameOf(workload)}: activeDeadlineSeconds is taken out, since it counts waiting and repeated work.`);
  }
  document.deleteIn([...job, 'podReplacementPolicy']);
  if (workload.cron !== null) moveZone(document, podPath.slice(0, -4));
  putBeforeTemplate(document, job, entries);
  return notes;
}

/** The API server refuses a time zone in the schedule. */
function moveZone(document: Document, cron: Path): void {
  const schedule = document.getIn([...cron, 'schedule']);
  const [whole, zone] = /^(?:CRON_)?TZ=(\S+)\s+/.exec(typeof schedule === 'string' ? schedule : '') ?? [];
  if (whole === undefined || typeof schedule !== 'string') return;
  document.setIn([...cron, 'schedule'], schedule.slice(whole.length));
  document.setIn([...cron, 'timeZone'], zone);
}

function isSweep({ job, isGang }: Workload): boolean {
  return !isGang && get(job, 'completionMode') !== null && (number(get(job, 'completions')) ?? 1) > 1;
}

/** Policies are read before the template, so that is where they stand. */
function putBeforeTemplate(document: Document, path: Path, entries: Readonly<Record<string, unknown>>): void {
  const template = document.getIn([...path, 'template'], true);
  document.deleteIn([...path, 'template']);
  for (const [key, value] of Object.entries(entries)) {
    document.deleteIn([...path, key]);
    document.setIn([...path, key], document.createNode(value));
  }
  document.setIn([...path, 'template'], template);
}

/** The replica of a PyTorchJob: 143 is tried again, 1 to 127 are not. */
export function superviseReplica(document: Document, workload: Workload, podPath: Path): readonly string[] {
  const notes = nameContainer(document, workload, podPath);
  const replica = podPath.slice(0, -2);
  const template = document.getIn([...replica, 'template'], true);
  document.deleteIn([...replica, 'template']);
  document.setIn([...replica, 'restartPolicy'], 'ExitCode');
  document.setIn([...replica, 'template'], template);
  document.deleteIn([...podPath, 'restartPolicy']);
  if (document.hasIn(['spec', 'runPolicy', 'activeDeadlineSeconds'])) document.deleteIn(['spec', 'runPolicy', 'activeDeadlineSeconds']);
  return notes;
}

/** The Training Operator takes the container with this name, and refuses a replica without one. */
function nameContainer(document: Document, workload: Workload, podPath: Path): readonly string[] {
  const { containers, trainer } = workload;
  if (trainer === null || workload.object.kind !== 'PyTorchJob' || containers.some(({ name }) => name === 'pytorch')) return [];
  document.setIn([...podPath, 'containers', containers.indexOf(trainer), 'name'], 'pytorch');
  return [`${nameOf(workload)}: the container ${trainer.name} is called pytorch now, without which the job is refused.`];
}
