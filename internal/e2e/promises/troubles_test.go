package promises_test

import (
	"testing"
)

// trouble is what a fleet of agents ran into elsewhere, and what holds Fleet to doing better.
type trouble struct {
	number   string
	source   string // where it was reported: repository#issue
	claim    string
	tests    string // folder.TestName, blanks between them
	reasoned string // what of it cannot be tried where the tests run, and why it is believed
}

// troubles are grouped as their reporters met them: a status that lies, identities, tokens that
// leak, sockets and restarts, paths, load, and harnesses.
func troubles() []trouble {
	const unseen = "no login session of systemd's runs in a test: systemd-analyze reads the unit, and the signals that it causes are sent by hand"
	return []trouble{
		{"H1", "gavraz/recon#9", "the agent's pane is the session's first, whichever is active", "e2e/promises.TestASecondPaneIsNotTakenForTheAgents workspace.TestTheSessionsTextCanBeRead", ""},
		{"H2", "agent-of-empires#3440, Ark0N/Codeman#246", "spinners and prompts prove nothing", "e2e/promises.TestWhatAPaneShowsNeverChangesWhatItsAgentReported", ""},
		{"H3", "epilande/ccmux#205", "a still title is not idle", "e2e/promises.TestWhatAPaneShowsNeverChangesWhatItsAgentReported", ""},
		{"H4", "0xb1ob/muxa#44", "no status hangs on a layout", "e2e/promises.TestWhatAPaneShowsNeverChangesWhatItsAgentReported", ""},
		{"H5", "gastownhall/gascity#770", "report, last call and pane activity are facts apart", "e2e/promises.TestWhatAPaneShowsNeverChangesWhatItsAgentReported", ""},
		{"H6", "coder/coder#17928", "an ended session has no status; its last words are events", "e2e/promises.TestAnEndedSessionHasNoStatusAndItsLastWordsStandInTheEvents", ""},
		{"H7", "coder/coder#19893", "no report yet is no agent, not an idle one", "e2e/promises.TestStatusSaysThatNoClientCameAndThenThatNoAgentRegistered agent.TestNoAgentIsNoRecord", ""},
		{"H8", "coder/coder#22286", "nothing seen overrides what was reported", "e2e/promises.TestWhatAPaneShowsNeverChangesWhatItsAgentReported", ""},
		{"H10", "its-maestro-baby/maestro#204", "agents are told when to report awaiting", "server.TestInitializeAgreesOnEachLegacyRevision server.TestToolDefinitionsAreThoseOfTheSnapshots", ""},
		{"H11", "Untrivial-ai/agent-orchestrator#2712", "what is reported and what is seen are both kept", "e2e/promises.TestWhatAPaneShowsNeverChangesWhatItsAgentReported workspace.TestWhatRunsInASessionIsSeen", ""},
		{"H12", "stevehuang0115/crewly#252", "an agent that runs without its tools shows", "e2e/promises.TestStatusSaysThatNoClientCameAndThenThatNoAgentRegistered workspace.TestThatAClientCameOutlivesTheShip", ""},
		{"H13", "Szotasz/marveen#1361", "a prompt before the first tool shows", "e2e/promises.TestStatusSaysThatNoClientCameAndThenThatNoAgentRegistered server.TestOnlyAValidTokenMarksAWorkspaceAsSeen", ""},
		{"H14", "eltmon/overdeck#1520, openai/codex#17716", "whatever an agent waits for is one state with a reason", "api.TestTheFiveStates cmd/ship.TestThoseWhoWaitForAPersonComeFirstTheLongestWaitAtTheTop", ""},

		{"H16", "tmux/tmux#2834, gabrielkoerich/orch#2901", "variables are there before the first process", "workspace.TestActivationGivesTheSessionItsTokenAndAddress e2e/promises.TestNamedVariablesReachThePaneByteForByte cmd/ship.TestScripts/life", ""},
		{"H17", "tmux/tmux#17", "attaching changes no session's environment", "e2e/promises.TestAttachingChangesNothingInASessionsEnvironment", ""},
		{"H18", "gascity#5061, hivecommons/hive#608", "a server's own environment is cleaned, as its children see it", "tmux.TestStartCleansTheEnvironmentOfAServerThatSomebodyElseStarted", ""},
		{"H19", "agent-of-empires#3079", "a display and XDG folders reach the sessions", "tmux.TestOnlyTheAllowListReachesTmux", ""},
		{"H20", "umputun/agterm#166", "a ship started in one session leaks nothing of it", "e2e/promises.TestAShipStartedInsideASessionGivesNothingOfItToOthers adapter.TestNoTokenIsSentWhereTheEnvironmentNamesAnotherPlace", ""},
		{"H21", "fujibee/agmsg#294, chrismcdermut/proletariat#581", "a harness's identity is not inherited", "e2e/promises.TestAShipStartedInsideASessionGivesNothingOfItToOthers e2e/promises.TestNothingOfTheShipsEnvironmentReachesAPane", ""},
		{"H22", "kirodotdev/KiroCrew#10031", "all who call from a workspace are its one agent", "e2e/promises.TestASecondAgentInAWorkspaceReplacesTheFirstForAllToSee", ""},
		{"H23", "NousResearch/hermes-agent#37356", "who takes an agent's place is told with the old one", "e2e/promises.TestASecondAgentInAWorkspaceReplacesTheFirstForAllToSee agent.TestASecondInitNamesTheAgentThatItReplaces", ""},
		{"H24", "Yeachan-Heo/oh-my-claudecode#2384", "the caller's TMUX picks no server", "e2e/promises.TestKillServerInOnePaneLeavesAllOthers e2e/promises.TestTheSessionsAreFoundWhateverTheEnvironmentSays", ""},
		{"H25", "pchalasani/claude-code-tools#48", "tmux is asked for a target, never for what has the keyboard", "e2e/promises.TestASecondPaneIsNotTakenForTheAgents tmux.TestNobodyElseRunsTmux", ""},

		{"H26", "cheapestinference/claude-auto-retry#68", "no secret is in an argument list, the server's for life among them", "e2e/promises.TestNoSecretIsEverInAnArgumentList", ""},
		{"H27", "Cotal-AI/Cotal#139, mifunedev/openharness#461", "no secret is in a pane's command", "e2e/promises.TestNoSecretStandsInWhatTmuxShowsOfAPane workspace.TestNoTokenStandsInAnArgumentList", ""},
		{"H28", "kenn-io/forge#917", "tmux gets an allow-list of the environment", "tmux.TestOnlyTheAllowListReachesTmux e2e/promises.TestForgeAndIdentityVariablesCannotBeNamed atlas.TestVariablesThatMayReachAPane", ""},
		{"H29", "vfarcic/dot-agent-deck#1129", "a token attributes among processes of one user, and README says no more", "e2e/promises.TestREADMESaysWhereOneUsersProcessesAreNotIsolated e2e/promises.TestDeactivateRevokesAtOnce", ""},
		{"H30", "leeguooooo/AgentParty#235", "no command takes a secret as an argument, or prints one", "cmd/ship.TestNoCommandTakesASecretOnItsCommandLine e2e/promises.TestNoSecretIsWrittenDown", ""},
		{"H31", "openai/codex#43669", "registering a harness writes no token", "e2e/promises.TestRegisteringAHarnessWritesNoToken", ""},
		{"H32", "getsentry/dotagents#158", "a token that nobody expanded is not sent", "adapter.TestTheTokenIsFoundWhateverTheHarnessPassesOn e2e/promises.TestAScrubbedEnvironmentStillFindsItsToken", ""},
		{"H33", "modelcontextprotocol's authorization discovery", "probes for OAuth end in a plain 404, and are not written down", "server.TestOtherPathsAreAPlain404 server.TestRefusalsAreLoggedWithoutTheTokenAndNotWithoutEnd", ""},
		{"H34", "BlackBeltTechnology/pi-agent-dashboard#504", "a directory's name is never a command or a format", "tmux.TestADirectoryIsTakenByItsLetters e2e/promises.TestHostileInputIsNeitherRunNorShown", ""},

		{"H35", "brizzai/fleet#207, YoanWai/agent-manager#71", "kill-server in a pane reaches nobody else", "e2e/promises.TestKillServerInOnePaneLeavesAllOthers", ""},
		{"H36", "gastown#2441, gastown#4637", "the socket hangs on the atlas alone", "e2e/promises.TestTheSessionsAreFoundWhateverTheEnvironmentSays", ""},
		{"H37", "agent-deck#958, gbasin/agentboard#212", "a restarted unit or a log-out ends no session", "e2e/promises.TestARestartOfTheUnitKeepsTheSessionsAndTheirTokens cmd/ship.TestSystemdReadsTheUnitOfAnyAtlasAsItIsMeant", unseen},
		{"H38", "Untrivial-ai/agent-orchestrator#2702", "no session is made again behind anybody's back", "e2e/promises.TestAStartEndsNoSessionAndMakesNone", ""},
		{"H39", "bobmatnyc/trusty-tools#1918", "not to know a session is no reason to end it", "workspace.TestOtherSessionsAreLeftAlone e2e/promises.TestAStartEndsNoSessionAndMakesNone", ""},
		{"H40", "openwong2kim/wmux#557", "a start takes over, with the same processes", "e2e/promises.TestAStartEndsNoSessionAndMakesNone workspace.TestAdoptionTakesTheSameCallsForManySessions", ""},
		{"H41", "kubestellar/copilot-remote#83", "running agents' tokens outlive the ship", "workspace.TestTheNextShipServesOnWithTheSameTokensAndStatuses e2e/promises.TestACrashOfTheShipIsInvisibleToItsAgents", ""},
		{"H42", "gastown#1684", "no session is ended for being old, with the operator's panes in it", "e2e/promises.TestAStartEndsNoSessionAndMakesNone", ""},
		{"H43", "gastown#700", "what a pane runs, and how it ended, is shown", "workspace.TestWhatRunsInASessionIsSeen", ""},
		{"H44", "tmux/tmux, SIGUSR1", "a socket that is tidied away comes back", "e2e/promises.TestATmuxSocketThatIsRemovedCostsNoSession tmux.TestARemovedSocketIsMadeAnew workspace.TestATidiedFolderEndsNothing", ""},
		{"H45", "tmux/tmux, unsafe permissions", "sockets lie in a private folder, with a short path", "atlas.TestEverySocketsPathIsShort atlas.TestTempSocketsAreOnesOwn atlas.TestAFolderThatIsNotOursAloneIsRefused", ""},
		{"H46", "agent-deck#1713", "a session stands in its workspace or is not made", "e2e/promises.TestAShipWhoseWorkingDirectoryIsGoneStartsSessionsInTheirWorkspaces workspace.TestABrokenActivationLeavesNothing", ""},

		{"H47", "microsoft/vscode#329949, anthropics/claude-code#95820", "a workspace's root is found by the atlas, not by git", "e2e/promises.TestASubmoduleInAWorktreeBelongsToItsWorkspace atlas.TestAnAtlasInsideACheckoutIsPassedOver", ""},
		{"H48", "The-PR-Agent/pr-agent#3437", "a .git file makes a workspace too", "atlas.TestLocateTakesAWorkspaceWithAGitFile workspace.TestAWorktreeOfASiblingIsAWorkspace", ""},
		{"H49", "Hmbown/Codewhale#4052", "outside, the error lists where was looked", "atlas.TestOutsideAWorkspaceTheErrorSaysWhere adapter.TestCheckTellsWhatAHarnessWouldFind", ""},
		{"H51", "smtg-ai/claude-squad#142", "any directory below a workspace will do", "e2e/promises.TestAScrubbedEnvironmentStillFindsItsToken atlas.TestLocateFromTheWorkspaceAndBelow", ""},
		{"H52", "kenn-io/kwt#148", "no name hangs on a branch", "e2e/promises.TestARenamedBranchOrphansNothing atlas.TestSessionNamesNeverChange", ""},
		{"H53", "YoanWai/agent-manager#418", "no live checkout is moved", "", "there is no command that moves or renames a workspace"},
		{"H54", "chatml#1108", "a detached HEAD has no branch, and says its commit", "workspace.TestADetachedHeadWantsAnExplicitTarget e2e/promises.TestWithoutATargetTheWorkspacesBranchIsMeant e2e/promises.TestARenamedBranchOrphansNothing", ""},
		{"H55", "Emanuele-web04/synara#16", "so in a new worktree", "workspace.TestPositionInAWorktreeIsItsOwn workspace.TestADetachedHeadWantsAnExplicitTarget", ""},
		{"H58", "smtg-ai/claude-squad#226", "a submodule in a worktree works and is not lost", "e2e/promises.TestASubmoduleInAWorktreeBelongsToItsWorkspace workspace.TestRemoveRefusesToLoseWork", ""},

		{"H59", "agent-of-empires#421", "a look at all sessions is one call of tmux", "workspace.TestALookIsOneCallOfTmuxForAnyNumberOfSessions", ""},
		{"H60", "agent-deck#1728", "looks neither overlap nor pile up behind a stall", "workspace.TestASlowTmuxIsAskedOnceAtATime workspace.TestATmuxThatDoesNotAnswerProvesNothing", ""},
		{"H62", "vanillagreencom/kendex#1453", "a list reads no transcript and starts no program", "workspace.TestListAsksNeitherTmuxNorGit", ""},
		{"H63", "shuntaka9576/agentoast#193", "nothing hangs on tmux's control mode", "workspace.TestALookIsOneCallOfTmuxForAnyNumberOfSessions", ""},
		{"H64", "agent-deck#1486, PocketShell#1123", "no client is kept that holds a terminal or its size", "workspace.TestALookIsOneCallOfTmuxForAnyNumberOfSessions", "tmux's crash on macOS (tmux#4980) is of clients in control mode, and there are none"},

		{"H67", "anthropics/claude-code#27142", "there is no MCP session to become stale", "server.TestAtEveryRevisionAnAnswerIsOneJSONBody e2e/longlife.TestAnUpgradeIsInvisibleToTwentyAgents", ""},
		{"H68", "anthropics/claude-code#39858", "a rotated token reaches running adapters", "adapter.TestARotatedTokenIsFollowed e2e/promises.TestATokenRotatedUnderCallsInFlightIsInvisible cmd/ship.TestScripts/life", ""},
		{"H69", "anthropics/claude-code#51799", "a refused token is looked up once more", "adapter.TestATokenThatTheShipRefusesIsTriedOnceMore", ""},
		{"H71", "openai/codex#5913, anomalyco/opencode#5360", "an answer is bounded and its rest can be reached", "bridge.TestLogsStayWithinTheirSize bridge/github.TestRestOfALogIsReachedByItsOwnCursor bridge.TestALongThreadIsShownInPartsThatReachEveryComment", ""},
		{"H72", "openai/codex#15519, CoplayDev/unity-mcp#1304", "each tool says what it does to the world", "server.TestEachToolSetsAllFourAnnotations e2e/promises.TestAHarnessSeesTheThirteenToolsAsDesigned", ""},
		{"H73", "scchearn/hcom-mcp#1", "a harness is registered once, for the user", "harness.TestInstallAddsItsPartAndUninstallGivesTheBytesBack e2e.TestWhatShipInstallsEachHarnessUses", "Cursor and Amp by their documented formats alone"},
		{"H74", "openai/codex#5246, yvgude/lean-ctx#449", "a harness that passes nothing on still has its token", "e2e/promises.TestAScrubbedEnvironmentStillFindsItsToken e2e.TestEachHarnessCallsTheToolsOfItsWorkspace", ""},
		{"H75", "mgedmin/restview#51, google-gemini/gemini-cli#26881", "other hosts' names and pages are turned away", "server.TestForeignOriginsAndHostsAreTurnedAwayOnEveryRoute server.TestLoopbackOriginsAndHostsPass", ""},
		{"H76", "UsefulSoftwareCo/executor#74, microsoft/WSL#4851", "both loopback addresses are served", "server.TestBothLoopbackAddressesServe adapter.TestIPv6IsDialledWhereIPv4Refuses", "WSL is not here; addresses in URLs are 127.0.0.1, so nothing is looked up"},
	}
}

func TestEachTroubleOfOtherFleetsIsHeldByATest(t *testing.T) {
	r := repositoryTests(t)
	seen := map[string]bool{}
	for _, c := range troubles() {
		if seen[c.number] || c.source == "" || c.claim == "" {
			t.Errorf("%s stands twice, or lacks its source or claim", c.number)
		}
		seen[c.number] = true
		if c.tests == "" && c.reasoned == "" {
			t.Errorf("%s (%s) names neither a test nor a reason", c.number, c.source)
		}
		for _, name := range fields(c.tests) {
			if !r.has(name) {
				t.Errorf("%s (%s): there is no test %s", c.number, c.source, name)
			}
		}
	}
	if len(seen) < 60 {
		t.Errorf("only %d troubles are listed", len(seen))
	}
}
