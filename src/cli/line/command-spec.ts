// What the command table says of a command and of an option.

export interface OptionSpec {
  name: string;
  short?: string;
  /** What stands for the value in help; without it the option is a switch. */
  value?: string;
  /** May be given several times. */
  repeats?: boolean;
  choices?: readonly string[];
  /** The empty text is a value of its own. */
  mayBeEmpty?: boolean;
  summary: string;
}

export interface CommandSpec {
  /** Two words for a command of a group, like `keys create`. */
  name: string;
  /** What follows the name in the usage line, options left out. */
  operands: string;
  maxOperands: number;
  /** The option whose values operands are, in the order of the command line. */
  operandsAre?: string;
  summary: string;
  /** Paragraphs for `--help` of the command. */
  details: readonly string[];
  options: readonly OptionSpec[];
  examples: readonly { line: string; says: string }[];
}
