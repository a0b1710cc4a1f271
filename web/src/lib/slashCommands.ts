// The agents' own slash commands; a session may know more, and takes them typed.

import { AGENTS, type SlashCommand } from "./agents";

export const commandsOf = (agent: string): SlashCommand[] => AGENTS[agent]?.commands ?? [];

/** Those that begin as what was typed. */
export const suggested = (agent: string, typed: string): SlashCommand[] =>
  /^\/\S*$/.test(typed) ? commandsOf(agent).filter((each) => each.name.startsWith(typed) && each.name !== typed) : [];
