import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';
import { NoSkips } from './test/support/no-skips.ts';
import { ToldSkips } from './test/support/told-skips.ts';

/** By itself vitest leaves one core free, which with two cores is half of the machine. */
const CORES = availableParallelism();
/** Tests that mostly wait: for timers, processes, disks. */
const WAITING = 2 * CORES;
/**
 * All limits are against hangs alone. Where much else goes on, the start of a process has taken
 * seven seconds instead of a third of one.
 */
const PROCESS_TIMEOUT_MS = 5 * 60_000;
/** A unit test takes milliseconds, but some start a thread or a process. */
const UNIT_TIMEOUT_MS = 3 * 60_000;
/** The longest takes four minutes by itself, and more than twice that beside other work. */
const CRASH_TIMEOUT_MS = 30 * 60_000;
/** By itself the longest takes a minute. */
const QUEUE_TIMEOUT_MS = 20 * 60_000;
const STORE_TIMEOUT_MS = 20 * 60_000;
const FRAMEWORK_TIMEOUT_MS = 20 * 60_000;
const NATIVE_GANGS = 'test/kubernetes/native-gangs.test.ts';
/** They take minutes, and one of them builds Kueue. */
const RECORDED = ['test/kubernetes/kueue.test.ts', 'test/kubernetes/elastic.test.ts'];
/** Against hangs alone: by itself the longest takes half a minute. */
const CLUSTER_TIMEOUT_MS = 20 * 60_000;
/** What a test that failed has left running would slow down, or disturb, those after it. */
const END_RUNS = 'test/support/end-runs.ts';

/**
 * `npm test` runs unit, e2e and fuzz: they need Node and npm only. The supervisor suite (`npm run
 * test:supervisor`) runs trainers: Python 3, and root where a trainer is to be the first process.
 * The crash suite (`npm run test:crash`) takes minutes and, for some of its proofs, root and
 * strace; the mounts suite (`npm run test:mounts`) mounts real file systems, as root; the stores
 * suite (`npm run test:stores`) starts real object stores, built with Go, and lints the files of a
 * Go module; the frameworks suite (`npm run test:frameworks`) needs the real frameworks; the
 * kubernetes suite (`npm run test:kubernetes`) builds and starts a real Kubernetes in namespaces of
 * its own, as root.
 */
export default defineConfig({
  test: {
    reporters: ['default', new ToldSkips(), ...(process.env['CI'] === 'true' ? [new NoSkips()] : [])],
    projects: [
      {
        test: {
          name: 'unit',
          include: ['{src,tools,bench}/**/*.test.ts'],
          // Unit tests keep no state in modules, so they may share them: several times faster.
          isolate: false,
          // Not threads: V8 loses count of its pages of code, once in some dozen runs, where many
          // come and go ("jit_page.has_value()").
          pool: 'forks',
          maxWorkers: CORES,
          testTimeout: UNIT_TIMEOUT_MS,
          hookTimeout: UNIT_TIMEOUT_MS,
        },
      },
      {
        test: {
          name: 'e2e',
          include: ['test/*.test.ts'],
          pool: 'forks',
          maxWorkers: CORES,
          testTimeout: PROCESS_TIMEOUT_MS,
          hookTimeout: 4 * PROCESS_TIMEOUT_MS,
        },
      },
      {
        test: {
          name: 'fuzz',
          include: ['test/fuzz/**/*.test.ts'],
          pool: 'forks',
          maxWorkers: CORES,
          testTimeout: PROCESS_TIMEOUT_MS,
        },
      },
      {
        test: {
          name: 'supervisor',
          include: ['test/supervisor/**/*.test.ts'],
          setupFiles: END_RUNS,
          pool: 'forks',
          maxWorkers: WAITING,
          testTimeout: PROCESS_TIMEOUT_MS,
          hookTimeout: 4 * PROCESS_TIMEOUT_MS,
        },
      },
      {
        test: {
          name: 'binary',
          include: ['test/binary/**/*.test.ts'],
          pool: 'forks',
          testTimeout: PROCESS_TIMEOUT_MS,
          hookTimeout: 4 * PROCESS_TIMEOUT_MS,
        },
      },
      {
        test: {
          name: 'crash',
          include: ['test/crash/**/*.test.ts'],
          pool: 'forks',
          // Most of it waits: for processes, for disks, for pauses between calls.
          maxWorkers: CORES + 1,
          testTimeout: CRASH_TIMEOUT_MS,
          hookTimeout: CRASH_TIMEOUT_MS,
        },
      },
      {
        test: {
          name: 'mounts',
          include: ['test/mounts/**/*.test.ts'],
          pool: 'forks',
          testTimeout: PROCESS_TIMEOUT_MS,
          hookTimeout: 4 * PROCESS_TIMEOUT_MS,
          // Loop devices are few.
          fileParallelism: false,
        },
      },
      {
        test: {
          name: 'frameworks',
          include: ['test/frameworks/**/*.test.ts'],
          setupFiles: END_RUNS,
          pool: 'forks',
          testTimeout: FRAMEWORK_TIMEOUT_MS,
          hookTimeout: FRAMEWORK_TIMEOUT_MS,
          // Each framework computes while the other file waits for its processes.
          maxWorkers: CORES,
        },
      },
      {
        test: {
          name: 'queue',
          include: ['test/queue/**/*.test.ts'],
          pool: 'forks',
          testTimeout: QUEUE_TIMEOUT_MS,
          hookTimeout: QUEUE_TIMEOUT_MS,
          maxWorkers: 2,
        },
      },
      {
        test: {
          name: 'stores',
          include: ['test/{object-stores,go-modules}/**/*.test.ts'],
          setupFiles: END_RUNS,
          pool: 'forks',
          testTimeout: STORE_TIMEOUT_MS,
          hookTimeout: STORE_TIMEOUT_MS,
          // They mostly wait for limits, kills and deadlines, but each file has a server of its own
          // beside it.
          maxWorkers: CORES + 1,
        },
      },
      {
        test: {
          name: 'kubernetes',
          include: ['test/kubernetes/**/*.test.ts'],
          exclude: [NATIVE_GANGS, ...RECORDED],
          globalSetup: 'test/kubernetes/global-setup.ts',
          setupFiles: 'test/kubernetes/end-clusters.ts',
          pool: 'forks',
          testTimeout: CLUSTER_TIMEOUT_MS,
          hookTimeout: CLUSTER_TIMEOUT_MS,
          // They mostly wait: for kubelets, for graces, for timers. More large clusters than two
          // want more instances of inotify than a user has.
          maxWorkers: 2,
        },
      },
      {
        test: {
          // Apart, because it builds another release of Kubernetes (`npm run gangs:record`).
          name: 'gangs',
          include: [NATIVE_GANGS],
          globalSetup: 'test/kubernetes/global-setup.ts',
          setupFiles: 'test/kubernetes/end-clusters.ts',
          pool: 'forks',
          testTimeout: CLUSTER_TIMEOUT_MS,
          hookTimeout: CLUSTER_TIMEOUT_MS,
        },
      },
      {
        test: {
          // Played by a person (`npm run kueue:record`, `npm run elastic:play`).
          name: 'recorded',
          include: RECORDED,
          globalSetup: 'test/kubernetes/global-setup.ts',
          setupFiles: 'test/kubernetes/end-clusters.ts',
          pool: 'forks',
          testTimeout: CLUSTER_TIMEOUT_MS,
          hookTimeout: CLUSTER_TIMEOUT_MS,
        },
      },
    ],
  },
});
