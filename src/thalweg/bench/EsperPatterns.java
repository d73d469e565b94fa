// The pattern of keyed_events.py by Esper: reads lines "tick kind key", prints matches and seconds of its thread's CPU time.
import com.espertech.esper.common.client.EPCompiled;
import com.espertech.esper.common.client.configuration.Configuration;
import com.espertech.esper.compiler.client.CompilerArguments;
import com.espertech.esper.compiler.client.EPCompilerProvider;
import com.espertech.esper.runtime.client.EPEventService;
import com.espertech.esper.runtime.client.EPRuntime;
import com.espertech.esper.runtime.client.EPRuntimeProvider;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

public class EsperPatterns {
    static long matches;

    public static void main(String[] args) throws Exception {
        List<String> lines = Files.readAllLines(Path.of(args[0]));
        int count = lines.size();
        long[] ticks = new long[count];
        String[] kinds = new String[count];
        Object[][] events = new Object[count][];
        for (int i = 0; i < count; i++) {
            String[] parts = lines.get(i).split(" ");
            ticks[i] = Long.parseLong(parts[0]);
            kinds[i] = parts[1];
            events[i] = new Object[] {parts[2], "x" + i};
        }
        // The second pass is measured: by then the code is compiled.
        for (int pass = 0; pass < 2; pass++) {
            Configuration configuration = new Configuration();
            configuration.getRuntime().getThreading().setInternalTimerEnabled(false);
            for (String kind : new String[] {"A", "B"}) {
                Object[] types = new Object[] {String.class, String.class};
                configuration.getCommon().addEventType(kind, new String[] {"k", "id"}, types);
            }
            EPCompiled compiled = EPCompilerProvider.getCompiler().compile(args[1], new CompilerArguments(configuration));
            EPRuntime runtime = EPRuntimeProvider.getRuntime("pass" + pass, configuration);
            EPEventService service = runtime.getEventService();
            service.advanceTime(0);
            matches = 0;
            runtime.getDeploymentService().deploy(compiled).getStatements()[0]
                .addListener((found, old, statement, by) -> matches += found.length);
            var threads = ManagementFactory.getThreadMXBean();
            long before = threads.getCurrentThreadCpuTime(), now = -1;
            for (int i = 0; i < count; i++) {
                if (ticks[i] != now) {
                    now = ticks[i];
                    service.advanceTime(now * 1000);
                }
                service.sendEventObjectArray(events[i], kinds[i]);
            }
            double seconds = (threads.getCurrentThreadCpuTime() - before) / 1e9;
            if (pass == 1) {
                System.out.println(matches + " " + seconds);
            }
            runtime.destroy();
        }
    }
}
