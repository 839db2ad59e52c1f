/** A place where this operator does something else than v1 on purpose. */
export interface Fix {
  /** Its row in the list of docs/operator.md. */
  readonly title: string;
  /** The places of a snapshot that it explains. */
  readonly explains: readonly RegExp[];
}

/** The differences that plays may meet. */
export const FIXES = {
  gang: { title: 'A lost pod', explains: [/^pods\./, /^replicaStatuses\./, /^conditions/] },
  'in place': { title: '`restartPolicy` of gang pods', explains: [/^pods\.[^.]+\.spec\.restartPolicy$/] },
  selector: { title: '`selector` in the status', explains: [/^replicaStatuses\.[^.]+\.selector$/] },
  standalone: { title: '`PET_STANDALONE`', explains: [/^pods\.[^.]+\.spec\.containers\[\d+\]\.env\[\d+\]\.value$/] },
  running: { title: '`Running`', explains: [/^conditions/] },
  completion: { title: '`completionTime`', explains: [/^times\.completionTime$/] },
  words: { title: 'Messages of a failure', explains: [/^conditions\[\d+\]\.message$/] },
  deadline: { title: '`activeDeadlineSeconds`', explains: [/^conditions/, /^pods\./, /^services\./, /^replicaStatuses\./, /^times\./] },
  budget: { title: '`backoffLimit`', explains: [/^conditions/, /^pods\./, /^replicaStatuses\./, /^times\./] },
  deletion: { title: 'A pod that is deleted', explains: [/^conditions/, /^pods\./, /^replicaStatuses\./, /^times\./] },
} as const satisfies Readonly<Record<string, Fix>>;

/** The name of a fix. */
export type FixName = keyof typeof FIXES;
