import type { QueueStatus } from '../backend.ts';

/** What `/metrics` tells beside the queues. */
export interface ServerFigures {
  readonly connectedWorkers: number;
  readonly requests: number;
  readonly errors: number;
}

interface Family {
  readonly name: string;
  readonly type: 'gauge' | 'counter';
  readonly help: string;
  readonly of: (status: QueueStatus) => readonly (readonly [labels: string, value: number])[];
}

const FAMILIES: readonly Family[] = [
  {
    name: 'holdfast_queue_items',
    type: 'gauge',
    help: 'Items by state.',
    of: ({ counts }) => Object.entries(counts).map(([state, value]) => [`,state="${state}"`, value] as const),
  },
  {
    name: 'holdfast_queue_open_items',
    type: 'gauge',
    help: 'Items that still need work: ready, delayed or leased. 0 while the queue is paused, so that a scaler can follow it.',
    of: ({ counts: { ready, delayed, leased }, isPaused }) => [['', isPaused ? 0 : ready + delayed + leased]],
  },
  { name: 'holdfast_queue_workers', type: 'gauge', help: 'Workers that hold leases.', of: ({ workers }) => [['', workers.length]] },
  {
    name: 'holdfast_queue_items_per_second',
    type: 'gauge',
    help: 'Items done per second in the last minute.',
    of: ({ perSecond }) => [['', perSecond]],
  },
  {
    name: 'holdfast_queue_leases_given_back_total',
    type: 'counter',
    help: 'Leases that ended with a notice or were given back.',
    of: ({ givenBack }) => [['', givenBack]],
  },
  { name: 'holdfast_queue_leases_lost_total', type: 'counter', help: 'Leases whose workers vanished.', of: ({ lost }) => [['', lost]] },
  { name: 'holdfast_queue_failures_total', type: 'counter', help: 'Failed tries.', of: ({ failures }) => [['', failures]] },
  {
    name: 'holdfast_queue_refused_results_total',
    type: 'counter',
    help: 'Results refused because other bytes stand.',
    of: ({ refused }) => [['', refused]],
  },
  {
    name: 'holdfast_queue_lost_seconds_total',
    type: 'counter',
    help: 'Work done in vain, at most.',
    of: ({ lostMs }) => [['', lostMs / 1000]],
  },
];

/** The page of metrics in the text form of Prometheus. The names of queues need no escapes. */
export function metricsPage(statuses: readonly QueueStatus[], { connectedWorkers, requests, errors }: ServerFigures): string {
  const lines = FAMILIES.flatMap(({ name, type, help, of }) => [
    `# HELP ${name} ${help}`,
    `# TYPE ${name} ${type}`,
    ...statuses.flatMap((status) => of(status).map(([labels, value]) => `${name}{queue="${status.queue}"${labels}} ${value}`)),
  ]);
  const own = [
    ['holdfast_queue_connected_workers', 'gauge', 'Workers with an open connection to this server.', connectedWorkers],
    ['holdfast_queue_requests_total', 'counter', 'Requests to this server.', requests],
    ['holdfast_queue_errors_total', 'counter', 'Requests that this server answered with an error.', errors],
  ] as const;
  return [
    ...lines,
    ...own.flatMap(([name, type, help, value]) => [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`, `${name} ${value}`]),
    '',
  ].join('\n');
}
