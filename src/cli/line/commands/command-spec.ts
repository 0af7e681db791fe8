// What the command table says of a command and of an option.

export interface OptionSpec {
  name: string;
  short?: string;
  /** Name of the value in help; an option without it is a switch. */
  value?: string;
  /** The user may give the option several times. */
  repeats?: boolean;
  choices?: readonly string[];
  /** The empty text is a valid value. */
  mayBeEmpty?: boolean;
  summary: string;
}

export interface CommandSpec {
  /** Two words for a command of a group, like `keys create`. */
  name: string;
  /** The operands in the usage line. */
  operands: string;
  maxOperands: number;
  /** The option that takes the operands as its values, in the order of the command line. */
  operandsAre?: string;
  /** What the first operand may be, where it is one of few words. */
  operandChoices?: readonly string[];
  summary: string;
  /** Paragraphs for `--help` of the command. */
  details: readonly string[];
  options: readonly OptionSpec[];
  examples: readonly { line: string; says: string }[];
}
