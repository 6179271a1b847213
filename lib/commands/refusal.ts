/** The command changes nothing. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
  /** What a person can do. */
  readonly advice: string;

  constructor(reason: string, advice: string) {
    super(reason);
    this.advice = advice;
  }
}
