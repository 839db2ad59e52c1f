declare module 'postject' {
  /** Puts a resource into an executable, in place. */
  export function inject(filename: string, name: string, data: Buffer, options: { readonly sentinelFuse: string }): Promise<void>;
}
