import { constants } from 'node:os';

/**
 * An exit code outside Holdfast's own: from the trainer, or from a process that a signal killed.
 */
export interface ForeignExit {
  readonly title: string;
  readonly explain: string;
  readonly advice: string;
}

/** A code above this is 128 plus the number of a signal. */
const FIRST_SIGNAL = 128;
const LAST_SIGNAL = 64;

/** What an end by each signal usually means for a trainer, by exit code. */
export const SIGNAL_EXITS: Readonly<Record<number, ForeignExit>> = {
  129: {
    title: 'Killed by SIGHUP: the terminal was closed',
    explain:
      'The shell or the connection that the process belonged to ended, and the process did not handle the signal. Under `run` a closed terminal is a notice, and the code is 143.',
    advice: 'Start long work under `tmux`, `nohup` or a Job.',
  },
  131: {
    title: 'Killed by SIGQUIT',
    explain: 'Ctrl-\\ was pressed, or a tool asked for a core dump. `run` treats SIGQUIT like SIGTERM and ends with 143.',
    advice: 'Find out who sent the signal. If there is a core dump, it shows where the process was.',
  },
  132: {
    title: 'Killed by SIGILL: an instruction that this processor does not have',
    explain: 'A library was built for a newer processor than this node has, or memory was overwritten.',
    advice:
      'Use a build for this processor, or choose nodes that have what the build needs. A retry on the same node fails in the same way.',
  },
  134: {
    title: 'Killed by SIGABRT: the process gave up',
    explain:
      'A library called abort: a failed assertion, an uncaught C++ exception, or the watchdog of NCCL after a collective that timed out.',
    advice:
      'The last lines of the trainer’s output name the assertion. With NCCL, look at the other ranks first: in most cases one of them stopped earlier.',
  },
  135: {
    title: 'Killed by SIGBUS: memory behind a mapping is gone',
    explain:
      'A mapped file became shorter, or the file system behind shared memory is full. With PyTorch the usual reason is a small /dev/shm: a container has 64 MiB, and data-loader workers pass tensors through it.',
    advice: 'Mount an emptyDir with `medium: Memory` at /dev/shm, or use fewer workers.',
  },
  136: {
    title: 'Killed by SIGFPE: an integer was divided by zero',
    explain: 'Native code divided an integer by zero or overflowed. Floating-point numbers do not do this: they become inf or NaN.',
    advice: 'Count it as an error of the trainer.',
  },
  137: {
    title: 'Killed by SIGKILL',
    explain:
      'Nothing can handle this signal. In most cases the kernel sent it because the container had used up its memory (Kubernetes: reason OOMKilled). Or the grace was over: a process that does not end in time after SIGTERM is killed in this way. Under `run`, an end after a notice is 143. So 137 means memory, or a `kill -9` by hand.',
    advice:
      'Look for OOMKilled in the status of the pod or in the kernel’s log, and raise the memory limit or use less. Without `run` also compare the grace with the time of a save. Sealed checkpoints are whole: the same command resumes.',
  },
  139: {
    title: 'Killed by SIGSEGV: a segmentation fault',
    explain: 'Native code touched memory that is not its own: a defect in a library or in an extension, or faulty hardware.',
    advice: 'Count it as an error of the trainer. If it happens on one node only, cordon that node.',
  },
};

/** Explains a code that Holdfast itself does not use. Accepts any whole number from 0 to 255. */
export function foreignExit(code: number): ForeignExit {
  const known = SIGNAL_EXITS[code];
  if (known !== undefined) return known;
  const signal = code - FIRST_SIGNAL;
  return signal > 0 && signal <= LAST_SIGNAL ? signalled(signal) : ownExit(code);
}

function signalled(signal: number): ForeignExit {
  const name = Object.entries(constants.signals).find(([, number]) => number === signal)?.[0] ?? `signal ${signal}`;
  return {
    title: `Killed by ${name}`,
    explain: `A shell and \`holdfast run\` report an end by signal n as 128 + n: this is ${name}. After a notice that ends the attempt, \`run\` ends with 143 instead.`,
    advice: 'Find who sent the signal. Count it as an error of the trainer.',
  };
}

function ownExit(code: number): ForeignExit {
  return {
    title: 'The trainer’s own exit code',
    explain: `Holdfast never ends with ${code} by itself. \`run\` passes the trainer’s own code through if no notice came. An exception in Python is 1, a wrong command line of argparse is 2, and the trainer defines the others.`,
    advice:
      'Look at the last lines of the trainer’s output; `holdfast log RUN` shows the end of the attempt. Count it as an error of the trainer.',
  };
}
