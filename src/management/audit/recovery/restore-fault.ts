// The fault of a restore that cannot be done, with the remedy for an operator. Nothing was replaced.

export class RestoreFault extends Error {
  /** The cause: the input of the command, or the machine. */
  readonly side: 'input' | 'environment';
  readonly hint: string | undefined;

  constructor(side: 'input' | 'environment', message: string, options: { hint?: string; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'RestoreFault';
    this.side = side;
    this.hint = options.hint;
  }
}
