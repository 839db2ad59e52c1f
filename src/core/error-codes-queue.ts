import { EXIT } from './exit-codes.ts';

/** Errors of the work queue. Part of the one table in `error-codes.ts`. */
export const QUEUE_ERROR_CODES = {
  QUEUE_UNKNOWN: {
    exit: EXIT.noInput,
    title: 'There is no queue of that name',
    explain:
      'The server has no such queue. `holdfast queue push` makes a queue with its first items; `holdfast queue status` lists the queues there are. A queue that was dropped is gone.',
  },
  QUEUE_ITEM_UNKNOWN: {
    exit: EXIT.noInput,
    title: 'The queue has no item of that key',
    explain: 'No item with this key was pushed into the queue. Keys are compared byte for byte.',
  },
  QUEUE_ITEMS_REFUSED: {
    exit: EXIT.no,
    title: 'Some items were not pushed',
    explain:
      'A line is not JSON, or an item is too large, has no key, or has a key that the queue holds with another value. The message names each of them with its line and the reason. All other items were pushed; pushing the corrected input again adds only the missing ones. A value never changes once it is pushed: give the changed item another key.',
  },
  QUEUE_ITEMS_FAILED: {
    exit: EXIT.no,
    title: 'Items of the queue have failed',
    explain:
      'The work on every item has ended, but some items failed as often as the queue allows, were set aside because their workers died, or were cancelled. `holdfast queue failed QUEUE` shows them with their history, and `holdfast queue retry QUEUE` tries them again.',
  },
  QUEUE_NOT_DONE: {
    exit: EXIT.unavailable,
    title: 'The queue is not done yet',
    explain: '`holdfast queue wait --timeout` gave up before the work on every item had ended. Nothing was changed; wait again.',
  },
  QUEUE_WORKER_FAILED: {
    exit: EXIT.no,
    title: 'The program that processes the items fails',
    explain:
      'The program that `holdfast queue work` started cannot be executed, exits again and again without a result, or prints a line that is not a valid answer. Each of its items has used one try, and the history of the item holds the reason. The message carries the last reason.',
  },
  QUEUE_UNREACHABLE: {
    exit: EXIT.unavailable,
    title: 'The queue server cannot be reached',
    explain:
      'No server answered at the address, or the connection failed on every try. `--url` or HOLDFAST_QUEUE_URL says where the server is; without them it is http://127.0.0.1:9500. Start one with `holdfast queue serve --db=queue.db`. You may run the same command again: pushing an item twice adds it once.',
  },
  QUEUE_TOKEN_REFUSED: {
    exit: EXIT.noInput,
    title: 'The queue server does not accept the token',
    explain:
      'The server needs a token. The client sent none or a wrong one, or it sent a worker token for a request that only an owner may make. `--token-file` or HOLDFAST_QUEUE_TOKEN_FILE names the file with the token. Tokens are never printed.',
  },
  QUEUE_REQUEST_REFUSED: {
    exit: EXIT.no,
    title: 'The queue server refused the request',
    explain:
      'The request breaks the protocol: it is too large, is not JSON, or has a field of the wrong type. The message carries the rule. The cause can be a client of another version, or another program at the address.',
  },
  QUEUE_DATABASE_BUSY: {
    exit: EXIT.notWritten,
    title: 'The database file is in use',
    explain:
      'Another process has the SQLite file open. One server owns a file; the lock is released when the server process ends, in whatever way it ends. For several servers use PostgreSQL.',
  },
  QUEUE_DATABASE_FULL: {
    exit: EXIT.notWritten,
    title: 'The disk of the queue is full',
    explain:
      'The database could not write. Holdfast refused the request as a whole, and it keeps everything that it acknowledged before. Workers keep their results and retry; the server continues by itself when there is room.',
  },
  QUEUE_DATABASE_FAILED: {
    exit: EXIT.notWritten,
    title: 'The database of the queue failed',
    explain:
      'The database refused the request or could not be reached; the message carries its reason. Holdfast refused the request as a whole, and it keeps everything that it acknowledged before. The server tries again with the next request.',
  },
  QUEUE_DATABASE_VERSION: {
    exit: EXIT.noInput,
    title: 'The database was written by a newer Holdfast',
    explain:
      'The schema of the database is newer than this version of Holdfast. Nothing was changed. Use the version that wrote it, or a newer one.',
  },
  QUEUE_DATABASE_FOREIGN: {
    exit: EXIT.noInput,
    title: 'This is not the database of a queue',
    explain:
      'The file is a database of another program, or is damaged. Nothing was changed. Give `--db` another name; the tools of SQLite (`.recover`) may repair a damaged file.',
  },
  QUEUE_PLACE_REFUSED: {
    exit: EXIT.notWritten,
    title: 'A SQLite queue cannot be kept here',
    explain:
      'SQLite needs locks and syncs that network file systems, object stores and memory do not provide, so acknowledged results could be lost. Keep the file on a local disk, or use PostgreSQL.',
  },
  QUEUE_ADDRESS_REFUSED: {
    exit: EXIT.usage,
    title: 'The server cannot listen there',
    explain:
      'The address is taken, does not belong to this machine, or is reachable from other machines although no token was given. Without `--listen` the server listens on loopback only. With it, `--token-file` must name a file with a token of at least 16 characters.',
  },
} as const;
