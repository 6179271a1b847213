export interface ConfirmPaths {
  /** Default `/auth/confirm`. A page, which the client does not call: the adapter's own `paths` may name it. */
  readonly confirm: string;
}
