import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { TRAINING_RUN_DEFINITION } from '../../../src/operator/training-run/definition.ts';
import { LAUNCHER, ROOT, runProcess } from '../../support/run-process.ts';
import type { Cluster } from '../cluster/cluster.ts';
import { findFacility } from '../cluster/facility.ts';
import { fillBaseImage } from '../cluster/image.ts';
import { eventually } from '../cluster/wait.ts';
import { trueConditions } from './objects.ts';
import { definePyTorchJobs } from './pytorchjob-kind.ts';

const KINDS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const NAME = 'holdfast.test/operator:1';

/**
 * The shell of v1's init container, which looks for the master. The nslookup of busybox fails where
 * one domain of the search path does not know the name.
 */
const SHELL = `#!/busybox/busybox sh
nslookup() { busybox nslookup "$1.default.svc.cluster.local"; }
eval "$2"
`;

/** The operator's image: what supervised pods copy, and a shell for workers that wait. */
export const OPERATOR_IMAGE = {
  name: NAME,
  async content(folder: string): Promise<void> {
    fillBaseImage(folder, findFacility().unpacked('bin/busybox'));
    symlinkSync('busybox', join(folder, 'busybox/seq'));
    rmSync(join(folder, 'busybox/sh'));
    writeFileSync(join(folder, 'busybox/sh'), SHELL, { mode: 0o755 });
    const programs = join(folder, 'opt/holdfast');
    mkdirSync(programs, { recursive: true });
    const { code, stderr } = await runProcess(process.execPath, [join(ROOT, 'tools/build-binary.ts'), join(programs, 'holdfast-run')]);
    if (code !== 0) throw new Error(`holdfast-run cannot be built (exit code ${code}): ${stderr}`);
    copyFileSync(join(ROOT, 'native/holdfast-launch-linux-x64'), join(programs, 'holdfast-launch'));
  },
};

/** An operator beside the cluster, until it is disposed of. */
export interface OperatorProcess extends AsyncDisposable {
  readonly pid: number;
  /** What it said so far. */
  readonly said: () => string;
  /** Asks it to end, as a roll-out does, and returns its exit code. */
  end(): Promise<number | null>;
}

/** Defines the kinds, and starts the operator with its image on the cluster's network. */
export async function startOperator(cluster: Cluster): Promise<OperatorProcess> {
  await definePyTorchJobs(cluster);
  await defineTrainingRuns(cluster);
  return runOperator(cluster, [`--image=${NAME}`, `--pytorch-init-container-image=${NAME}`]);
}

/** Registers the operator's own kind. */
export async function defineTrainingRuns(cluster: Cluster): Promise<void> {
  await cluster.api.create(KINDS, TRAINING_RUN_DEFINITION);
  const own = `${KINDS}/${TRAINING_RUN_DEFINITION.metadata.name ?? ''}`;
  await eventually('the kind TrainingRun', async () =>
    trueConditions(await cluster.api.get(own)).some(({ type }) => type === 'Established') ? true : null,
  );
}

/**
 * Starts the operator with these options on the cluster's network: from the sources, or a program.
 */
export function runOperator(cluster: Cluster, options: readonly string[], holdfast: string = LAUNCHER): OperatorProcess {
  const args = [`--kubeconfig=${cluster.kubeconfig}`, '--listen=127.0.0.1:0', ...options];
  const inNetwork = cluster.inNetwork([holdfast, 'operator', 'run', ...args]);
  const [program, ...rest] = ['setpriv', '--pdeathsig', 'TERM', ...inNetwork] as const;
  const child: ChildProcess = spawn(program, rest, { stdio: ['ignore', 'pipe', 'pipe'] });
  let text = '';
  for (const stream of [child.stdout, child.stderr]) stream?.setEncoding('utf8').on('data', (more: string) => (text += more));
  const ended = once(child, 'close') as Promise<[number | null]>;
  const end = async (): Promise<number | null> => {
    child.kill('SIGTERM');
    const [code] = await ended;
    return code;
  };
  return {
    pid: child.pid ?? 0,
    said: () => text,
    end,
    async [Symbol.asyncDispose]() {
      await end();
    },
  };
}
